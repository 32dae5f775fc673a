import { setTimeout as sleep } from 'node:timers/promises';
import { attemptsMax, resumePauseMs } from '../limits.ts';

export interface Opened {
  readonly pieces: AsyncIterable<Uint8Array>;
  /** Identifies the content, so that a resumed download does not go on in another one. */
  readonly etag: string | undefined;
}

/**
 * A download that goes on where it broke off. Gives up after `attemptsMax` breaks without a byte between them.
 *
 * @param open opens the object from an offset on
 * @param failureOf makes an error of the operator out of the last one
 */
export async function resumed(
  open: (from: number, etag: string | undefined) => Promise<Opened>,
  failureOf: (error: unknown) => unknown,
): Promise<AsyncIterable<Uint8Array>> {
  const first = await open(0, undefined);
  return rest(first, open, failureOf);
}

async function* rest(
  first: Opened,
  open: (from: number, etag: string | undefined) => Promise<Opened>,
  failureOf: (error: unknown) => unknown,
): AsyncIterable<Uint8Array> {
  let at = 0;
  let failures = 0;
  let opened: Opened | undefined = first;
  for (;;) {
    try {
      opened ??= await open(at, first.etag);
      for await (const piece of opened.pieces) {
        at += piece.length;
        failures = 0;
        yield piece;
      }
      return;
    } catch (error) {
      opened = undefined;
      if (++failures >= attemptsMax) throw failureOf(error);
      await sleep(resumePauseMs * failures);
    }
  }
}

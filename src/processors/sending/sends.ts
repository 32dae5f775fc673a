import type { Unknown } from '../processor.ts';

/**
 * Counts the sends of each request under way, by idempotency key. An adapter's HTTP client counts every send here, so
 * that a resend by a vendor's library cannot go unnoticed.
 */
export class Sends {
  readonly #calls = new Map<string, Call>();

  /** The HTTP client calls this just before each send, with any key. */
  count(idempotencyKey: string): void {
    const call = this.#calls.get(idempotencyKey);
    if (call !== undefined) call.sends++;
  }

  /**
   * Makes one call and returns its outcome. A rejection counts only if there was a single send: after a resend, the
   * rejection may belong to the second request while the first was carried out.
   */
  async only<Outcome extends { readonly kind: string; readonly detail?: string }>(
    idempotencyKey: string,
    call: () => Promise<Outcome>,
  ): Promise<Outcome | Unknown> {
    const counted = this.#calls.get(idempotencyKey) ?? { sends: 0, users: 0 };
    this.#calls.set(idempotencyKey, counted);
    counted.users++;
    try {
      const outcome = await call();
      if (counted.sends <= 1 || !isRejection(outcome)) return outcome;
      return { kind: 'unknown', detail: `rejected after ${counted.sends} sends: ${detailOf(outcome)}` };
    } finally {
      if (--counted.users === 0) this.#calls.delete(idempotencyKey);
    }
  }
}

/** The sends of one key while a call with it is under way. */
interface Call {
  sends: number;
  users: number;
}

function isRejection({ kind }: { readonly kind: string }): boolean {
  return kind === 'not_attempted' || kind === 'rejected' || kind === 'declined';
}

function detailOf(outcome: { readonly kind: string; readonly detail?: string }): string {
  return outcome.detail ?? outcome.kind;
}

import type { Unknown } from '../processor.ts';

/**
 * Counts how often each request under way has been sent, by its idempotency key. An adapter's HTTP client counts every
 * send here, whoever caused it, so that a resend by a vendor's library cannot go unnoticed.
 */
export class Sends {
  readonly #calls = new Map<string, Call>();

  /** Called by the HTTP client just before it sends; it need not know which keys are of interest. */
  count(idempotencyKey: string): void {
    const call = this.#calls.get(idempotencyKey);
    if (call !== undefined) call.sends++;
  }

  /**
   * Makes one call and returns its outcome. A rejection counts only as the reply to the only send: after a resend, the
   * rejection may concern the second request while the first was carried out.
   */
  async only<Outcome extends { readonly kind: string; readonly detail?: string }>(
    idempotencyKey: string,
    call: () => Promise<Outcome>,
  ): Promise<Outcome | Unknown> {
    const under = this.#calls.get(idempotencyKey) ?? { sends: 0, users: 0 };
    this.#calls.set(idempotencyKey, under);
    under.users++;
    try {
      const outcome = await call();
      if (under.sends <= 1 || !isRejection(outcome)) return outcome;
      return { kind: 'unknown', detail: `rejected after ${under.sends} sends: ${detailOf(outcome)}` };
    } finally {
      if (--under.users === 0) this.#calls.delete(idempotencyKey);
    }
  }
}

/** The sends of one key, as long as a call with it is under way. */
interface Call {
  sends: number;
  users: number;
}

function isRejection({ kind }: { readonly kind: string }): boolean {
  return kind === 'not_attempted' || kind === 'refused' || kind === 'declined';
}

function detailOf(outcome: { readonly kind: string; readonly detail?: string }): string {
  return outcome.detail ?? outcome.kind;
}

import type { Unknown } from '../processor.ts';

/**
 * Counts how often each request under way has been sent, by its idempotency key. An adapter's HTTP client counts every
 * send here, whoever caused it, so that a resend by a vendor's library cannot go unnoticed.
 */
export class Sends {
  readonly #counts = new Map<string, number>();

  /** Called by the HTTP client just before it sends; it need not know which keys are of interest. */
  count(idempotencyKey: string): void {
    const count = this.#counts.get(idempotencyKey);
    if (count !== undefined) this.#counts.set(idempotencyKey, count + 1);
  }

  /**
   * Makes one call and returns its outcome. A rejection counts only as the reply to the only send: after a resend, the
   * rejection may concern the second request while the first was carried out.
   */
  async only<Outcome extends { readonly kind: string; readonly detail?: string }>(
    idempotencyKey: string,
    call: () => Promise<Outcome>,
  ): Promise<Outcome | Unknown> {
    this.#counts.set(idempotencyKey, 0);
    try {
      const outcome = await call();
      const sends = this.#counts.get(idempotencyKey) ?? 0;
      if (sends <= 1 || !isRejection(outcome)) return outcome;
      return { kind: 'unknown', detail: `rejected after ${sends} sends: ${detailOf(outcome)}` };
    } finally {
      this.#counts.delete(idempotencyKey);
    }
  }
}

function isRejection({ kind }: { readonly kind: string }): boolean {
  return kind === 'not_taken' || kind === 'refused' || kind === 'declined';
}

function detailOf(outcome: { readonly kind: string; readonly detail?: string }): string {
  return outcome.detail ?? outcome.kind;
}

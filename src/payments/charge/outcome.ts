import type { ChargeOutcome } from '../../processors/processor.ts';
import type { Write } from '../../storage/engine.ts';

/** What became of a charge: what a processor said, or that it was canceled before it was made. */
export type Settlement = ChargeOutcome | Canceled;

export interface Canceled {
  readonly kind: 'canceled';
  /** `canceled` by the shop, `expired` when nobody wanted it any more. */
  readonly declineCode: 'canceled' | 'expired';
}

/** What has been learned of a charge, and from whom. */
export interface Finding {
  readonly outcome: Settlement;
  /** The processor's event that reported it; absent where the processor was asked. */
  readonly eventId?: string;
  /**
   * `reply`: the reply to the request that this process sent. `proof`: the processor's books were looked at, or it has signed
   * an event. A success is proof either way, for it names a charge.
   */
  readonly basis: 'reply' | 'proof';
  /** What is to be written with it, where this is an administrative act (`audited`). */
  readonly audit?: Write;
}

import type { ChargeOutcome } from '../../processors/processor.ts';

/** What became of a charge: what a processor said, or that it was canceled before it was made. */
export type Settlement = ChargeOutcome | Canceled;

export interface Canceled {
  readonly kind: 'canceled';
  /** `canceled` by the shop, `expired` when nobody wanted it any more. */
  readonly declineCode: 'canceled' | 'expired';
}

import type { Declined } from '../../processors/event.ts';
import type { ChargeOutcome } from '../../processors/processor.ts';
import type { Write } from '../../storage/engine.ts';

/** The outcome of a charge: the processor's, or that it was canceled before it was made. */
export type Settlement = ChargeOutcome | Canceled;

/** The decline codes of the service itself. */
export const ownDeclineCodes = ['canceled', 'expired', 'authentication_timeout'] as const;
type OwnDeclineCode = (typeof ownDeclineCodes)[number];

export interface Canceled {
  readonly kind: 'canceled';
  /**
   * `canceled` by the shop; `expired` after `wantedUntil`; `authentication_timeout` after the time to authenticate; or the
   * processor's code for an authentication that failed.
   */
  readonly declineCode: OwnDeclineCode | (string & {});
  /** The decline of the attempt that was canceled after it; absent if it was canceled for another reason. */
  readonly declined?: Declined;
}

/** An outcome of a charge and its source. */
export interface Finding {
  readonly outcome: Settlement;
  /** The processor's event that reported it; absent if the processor was called. */
  readonly eventId?: string;
  /**
   * `reply`: the reply to this process's request. `proof`: a look-up in the processor's records, or a signed event. A
   * success is always proof, because it names a charge.
   */
  readonly basis: 'reply' | 'proof';
  /** The audit entry to commit with it, for an administrative act (`audited`). */
  readonly audit?: Write;
}

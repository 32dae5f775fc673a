import type { LookUp, Processor, Unknown } from '../processors/processor.ts';
import { chargeSoughtMsMax, clockStepMsMax } from './limits.ts';

/** The common field of all outcomes of a call to a processor. */
interface Outcome {
  readonly kind: string;
}

/** What may still be done, judging by the time since the first call to the processor. */
export interface Age {
  /** Whether the processor is sure to remember the key, so that a repeated request is safe. */
  readonly isKeyRemembered: boolean;
  /** Whether the look-up has failed for days, so that it must stop. */
  readonly isHopeless: boolean;
  /** Whether the key has expired, so that an absent charge stays absent. */
  readonly isLate: boolean;
}

/** If the clock moved backwards, the age is unknown: only look the charge up, and never give up. */
export function measureAge(createdAt: string, now: number, { keyLifeMs }: Processor): Age {
  const ageMs = now - Date.parse(createdAt);
  const isConclusive = ageMs > -clockStepMsMax;
  return {
    isKeyRemembered: isConclusive && ageMs < keyLifeMs,
    isHopeless: ageMs >= keyLifeMs + chargeSoughtMsMax,
    isLate: ageMs >= keyLifeMs,
  };
}

/**
 * Resolves the outcome of a request without an owner: repeats the call if that is safe, and looks up what stays unknown.
 *
 * Of the replies to a repeated request, only a success and an attempt that goes on prove anything. Any other reply may
 * concern only the repeated request, for instance because an earlier attempt has used up the token. So it counts only
 * if the processor's records hold nothing and no earlier request can still arrive.
 *
 * @param call undefined if a repeated call could charge or refund twice
 * @param end blocks an earlier request, or finds its outcome; called only after a rejection
 */
export async function resolveOutcome<Known extends Outcome>(
  call: (() => Promise<Known>) | undefined,
  lookUp: () => Promise<LookUp<Known>>,
  end: () => Promise<Known | Canceled | Unknown>,
): Promise<LookUp<Known | Unknown>> {
  const reply = await call?.().catch(unknownAfter);
  if (reply !== undefined && isProof(reply)) return reply;
  const found = await lookUp().catch(unknownAfter);
  if (reply === undefined || !isConclusive(reply) || found.kind !== 'absent') return found;
  const ended = await end();
  if (isCanceled(ended)) return reply;
  if (isConclusive(ended)) return ended;
  return { kind: 'unknown', detail: 'rejected, and an earlier request may be under way' };
}

/** Whether the outcome is a success, or an attempt that the processor has recorded under our key and continues. */
function isProof({ kind }: Outcome): boolean {
  return kind === 'succeeded' || kind === 'pending' || kind === 'requires_action';
}

/** Nothing was done, and nothing can happen any more. */
interface Canceled {
  readonly kind: 'canceled';
}

function isCanceled(outcome: Outcome): outcome is Canceled {
  return outcome.kind === 'canceled';
}

/** The outcome after an adapter has thrown, which proves nothing. */
export function unknownAfter(error: unknown): Unknown {
  return { kind: 'unknown', detail: `the adapter threw ${(error as Error).name}` };
}

/**
 * Whether the outcome proves something. `not_attempted` proves nothing about an earlier attempt, and `absent` proves
 * nothing about a request on its way.
 */
export function isConclusive<Any extends Outcome>(
  outcome: Any,
): outcome is Exclude<Any, { kind: 'unknown' | 'not_attempted' | 'absent' }> {
  return !['unknown', 'not_attempted', 'absent'].includes(outcome.kind);
}

/** Describes an unknown outcome for the log. */
export function describeOutcome(outcome: Outcome & { readonly detail?: string }): string {
  return outcome.kind === 'absent' ? 'not in the processor’s records' : (outcome.detail ?? outcome.kind);
}

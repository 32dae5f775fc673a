import type { LookUp, Processor, Unknown } from '../processors/processor.ts';
import { chargeSoughtMsMax, clockStepMsMax } from './limits.ts';

/** What every outcome of asking a processor has: it is known what became of the request, or it is not. */
interface Outcome {
  readonly kind: string;
}

/** How long ago the processor was first asked, and so what may be done about it. */
export interface Age {
  /** Whether the processor surely remembers the key: then asking again does nothing twice. */
  readonly isKeyRemembered: boolean;
  /** The look-up has failed for days: stop. */
  readonly isHopeless: boolean;
  /** The key has expired, so an absent charge stays absent. */
  readonly isLate: boolean;
}

/** If the clock moved backwards, the age is unknown: the charge is only looked up, and never given up. */
export function ageOf(createdAt: string, now: number, { keyLifeMs }: Processor): Age {
  const ageMs = now - Date.parse(createdAt);
  const isConclusive = ageMs > -clockStepMsMax;
  return {
    isKeyRemembered: isConclusive && ageMs < keyLifeMs,
    isHopeless: ageMs >= keyLifeMs + chargeSoughtMsMax,
    isLate: ageMs >= keyLifeMs,
  };
}

/**
 * Finds out what became of a request that nobody executes any more: by asking again, where that may be done, and by looking
 * for what that leaves open.
 *
 * Of the replies to a repeated request only a success is proof. Any other reply may concern the repetition alone, for
 * instance when an earlier attempt has used up the token. So it counts only where nothing is on the processor's books, and
 * nothing can come there any more.
 *
 * @param ask undefined where asking could do it twice
 * @param end makes sure that an earlier request can do nothing any more, or finds what it did; asked only after a rejection
 */
export async function resolveOutcome<Known extends Outcome>(
  ask: (() => Promise<Known>) | undefined,
  lookUp: () => Promise<LookUp<Known>>,
  end: () => Promise<Known | Canceled | Unknown>,
): Promise<LookUp<Known | Unknown>> {
  const asked = await ask?.().catch(unknownOf);
  if (asked !== undefined && (asked.kind === 'succeeded' || asked.kind === 'pending')) return asked;
  const found = await lookUp().catch(unknownOf);
  if (asked === undefined || !isConclusive(asked) || found.kind !== 'absent') return found;
  const ended = await end();
  if (isCanceled(ended)) return asked;
  if (isConclusive(ended)) return ended;
  return { kind: 'unknown', detail: 'rejected, and an earlier request may be under way' };
}

/** Nothing was done, and nothing can be done any more. */
interface Canceled {
  readonly kind: 'canceled';
}

function isCanceled(outcome: Outcome): outcome is Canceled {
  return outcome.kind === 'canceled';
}

/** An adapter that throws has said nothing. */
export function unknownOf(error: unknown): Unknown {
  return { kind: 'unknown', detail: `the adapter threw ${(error as Error).name}` };
}

/** Being turned away now proves nothing about an earlier attempt, and absence nothing about what is on its way. */
export function isConclusive<Any extends Outcome>(
  outcome: Any,
): outcome is Exclude<Any, { kind: 'unknown' | 'not_attempted' | 'absent' }> {
  return !['unknown', 'not_attempted', 'absent'].includes(outcome.kind);
}

/** For the log, where it is not known. */
export function detailOf(outcome: Outcome & { readonly detail?: string }): string {
  return outcome.kind === 'absent' ? 'not on the books of the processor' : (outcome.detail ?? outcome.kind);
}

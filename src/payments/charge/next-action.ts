import type { NextAction, RequiresAction } from '../../processors/processor.ts';
import type { Sealer } from '../../secrets/sealer.ts';
import { type Authentication, actionPlace, type Payment } from '../payment.ts';

/** What the record keeps of an attempt that the cardholder must authenticate. @param until milliseconds since 1970 */
export function authenticationOf(
  { sealer }: { readonly sealer: Pick<Sealer, 'sealWithSharedKey'> },
  { id }: Payment,
  { attemptId, action }: RequiresAction,
  until: number,
): Authentication {
  const sealedAction = sealer.sealWithSharedKey(JSON.stringify(action), actionPlace(id));
  return { attemptId, until, sealedAction };
}

/** What the cardholder must do next; undefined if the payment does not wait for them. */
export function nextActionOf(
  { sealer }: { readonly sealer: Pick<Sealer, 'open'> },
  { id, state, authentication }: Payment,
): NextAction | undefined {
  const sealed = authentication?.sealedAction;
  if (state !== 'requires_action' || sealed === undefined) return undefined;
  return JSON.parse(sealer.open(sealed, actionPlace(id))) as NextAction;
}

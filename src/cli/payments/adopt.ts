import { audited } from '../../access/audit.ts';
import { type Adopted, adoptCharges } from '../../payments/adopt.ts';
import type { PaymentContext } from '../../payments/context.ts';
import { paymentsAfter, paymentsSince } from '../../payments/payment-store.ts';
import { reconciled, restoredOf } from '../../payments/restored.ts';
import type { ConnectedProcessor } from '../../processors/processor.ts';
import type { JsonOption } from '../command.ts';
import { adoptedBeforeMsDefault, reservationMsMax } from '../limits.ts';
import { printResult } from '../output/print.ts';
import { UsageError, WorkFailed } from '../problems.ts';
import { withPayments } from './open.ts';

export interface AdoptOptions extends JsonOption {
  /** Milliseconds since 1970. */
  readonly from?: number;
  readonly until?: number;
  /** Whether payments are opened although a repeated request may be charged again. */
  readonly acceptUnknownKeys?: boolean;
}

/** `counterfoil payments reconcile --adopt`: exits with 1 if records cannot be read; then payments stay shut. */
export async function adopt(
  name: string | undefined,
  { json, from, until, acceptUnknownKeys = false }: AdoptOptions,
): Promise<void> {
  if (name !== undefined || until !== undefined)
    throw new UsageError('payments reconcile: --adopt looks at every processor until now; leave out both');
  const { wasShut, processors, adopted } = await withPayments(async (context) => {
    const restored = await restoredOf(context.engine);
    if (restored === undefined) return { wasShut: false, processors: [], adopted: [] };
    const found = await connected(context);
    const since = from ?? Date.parse(restored.snapshotAt) - adoptedBeforeMsDefault;
    const adopted: Adopted[] = [];
    for (const processor of found) adopted.push(...(await adoptOf(context, processor, since)));
    if (!acceptUnknownKeys) await checkKeysAreKnown(context, Date.parse(restored.snapshotAt));
    const on = restored.backup;
    await reconciled(context.engine, audited({ what: 'payments.reconciled', on, by: 'cli' }));
    return { wasShut: true, processors: found.map((each) => each.name), adopted };
  });
  const looked =
    processors.length === 0 ? 'no processor is configured' : `looked at ${processors.join(', ')}`;
  printResult(json, { were_shut: wasShut, processors, adopted: adopted.map(toJson) }, [
    ...adopted.map(({ paymentId, chargeId, what, amount, currency }) =>
      [paymentId, `(${chargeId})`, `adopted: ${what},`, amount, currency].join(' '),
    ),
    wasShut
      ? `${looked}: ${adopted.length} adopted; payments are open`
      : 'payments were open; nothing was done',
  ]);
}

/** All processors with a key. Throws WorkFailed if the store has payments of another one: its records could not be read. */
async function connected(context: PaymentContext): Promise<readonly ConnectedProcessor[]> {
  for await (const { processor } of paymentsAfter(context, undefined)) {
    if (context.processors.get(processor) === undefined)
      throw new WorkFailed(
        'records_unreadable',
        `the store has payments of ${processor}, which is not configured here, so its records cannot be read; payments stay shut`,
      );
  }
  return [...context.processors.values()].filter((processor) => processor !== undefined);
}

/** Throws WorkFailed if a repeated request could charge again: its key is not in the processor's records. Also in a second run. */
async function checkKeysAreKnown(context: PaymentContext, snapshotAt: number): Promise<void> {
  let unknown = 0;
  for await (const { isKeyUnknown } of paymentsSince(context, snapshotAt - reservationMsMax))
    if (isKeyUnknown) unknown++;
  if (unknown > 0)
    throw new WorkFailed(
      'keys_unknown',
      `${unknown} adopted payments have no idempotency key, because the processor's records do not hold it: a caller that repeats ` +
        'one of these requests would be charged again. Payments stay shut. When no caller repeats them any more, run this with ' +
        '--accept-unknown-keys',
    );
}

async function adoptOf(
  context: PaymentContext,
  processor: ConnectedProcessor,
  from: number,
): Promise<Adopted[]> {
  try {
    return await Array.fromAsync(adoptCharges(context, processor, { from, until: Date.now() }));
  } catch (error) {
    const reason = (error as Error).name;
    throw new WorkFailed(
      'records_unreadable',
      `the records of ${processor.name} cannot be read (${reason}); payments stay shut; run the command again`,
    );
  }
}

function toJson({ paymentId, chargeId, what, amount, currency }: Adopted): object {
  return { payment_id: paymentId, charge_id: chargeId, what, amount, currency };
}

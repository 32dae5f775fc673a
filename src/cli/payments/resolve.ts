import { randomUUID } from 'node:crypto';
import { audited } from '../../audit/audit.ts';
import { publicPayment } from '../../payments/payments.ts';
import type { Resolution } from '../../payments/types.ts';
import type { JsonOption } from '../command.ts';
import { printResult } from '../output/print.ts';
import { UsageError } from '../problems.ts';
import { withPayments } from './open.ts';

export interface ResolveOptions extends JsonOption {
  /** The charge id. */
  readonly succeeded?: string;
  readonly declined?: boolean;
}

/** `counterfoil payments resolve`. */
export async function resolve(id: string, { json, ...options }: ResolveOptions): Promise<void> {
  const resolution = resolutionOf(options);
  const audit = audited({ what: 'payment.resolved', on: id, by: 'cli', requestId: randomUUID() });
  const after = await withPayments((payments) => payments.resolve(id, resolution, audit));
  printResult(json, publicPayment(after), `${id} is ${after.state}`);
}

function resolutionOf({ succeeded: chargeId, declined = false }: ResolveOptions): Resolution {
  if ((chargeId !== undefined) === declined)
    throw new UsageError('payments resolve: needs either --succeeded <charge> or --declined');
  return chargeId === undefined ? { state: 'declined' } : { state: 'succeeded', chargeId };
}

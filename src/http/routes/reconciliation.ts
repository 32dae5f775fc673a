import { Type } from 'typebox';
import { paymentsPeriodMsDefault } from '../../payments/limits.ts';
import { type Payments, publicDifference } from '../../payments/payments.ts';
import type { Reconciliation } from '../../payments/types.ts';
import { named } from '../response/described.ts';
import { nullable, strictObject, timestamp } from '../response/schemas.ts';
import { sendLines } from '../response/stream-lines.ts';
import { operation, type Routes, routeFamily } from '../server/operation.ts';
import { parseTime } from './payment-requests.ts';

/** Administrators compare the payments with the records of a processor here. @param prefix in front of `/v3` */
export function reconciliationRoutes(
  payments: Pick<Payments, 'reconcile'>,
  now: () => number,
  prefix: string,
): Routes {
  return routeFamily('Payments', [
    operation('GET', `${prefix}/v3/payments/reconciliation`, 'admin', {
      id: 'reconcilePayments',
      summary: 'Compare the payments with the records of a processor',
      description:
        'Changes nothing. The response is a line of JSON for each difference, as it is found, between `begin` and `end`; without ' +
        'one for five seconds, there is `progress`. A response without `end` is not complete. One at a time for each processor ' +
        'and process of the service; it ends after 5 minutes, 200,000 charges or 1,000 differences.',
      options: { exposeHeadRoute: false },
      request: { query },
      response: { description: 'Lines of JSON', content: { 'application/x-ndjson': { schema: line } } },
      handle: (request, reply) => {
        const { processor, ...period } = request.query;
        const until = period.until === undefined ? now() : parseTime('until', period.until);
        const from =
          period.from === undefined ? until - paymentsPeriodMsDefault : parseTime('from', period.from);
        const reconciliation = payments.reconcile(processor, { from, until });
        const begin = { type: 'begin', processor, from: iso(from), until: iso(until) };
        return sendLines(request, reply, {
          lines: linesOf(begin, reconciliation),
          beat: () => ({ type: 'progress', ...publicCounts(reconciliation) }),
          gone: () => reconciliation.end(),
        });
      },
    }),
  ]);
}

const orNull = (description: string) => nullable(Type.String({ description }));
const count = (description: string) => Type.Integer({ description });
const counts = {
  payments: count('Our payments in the period'),
  charges: count('Charges of ours in the records of the processor'),
  others: count('Charges there that another system requested'),
};
const line = named(
  'ReconciliationLine',
  Type.Union([
    strictObject({
      type: Type.Literal('begin'),
      processor: Type.String(),
      from: timestamp,
      until: timestamp,
    }),
    strictObject({ type: Type.Literal('progress'), ...counts }),
    strictObject({
      type: Type.Literal('difference'),
      payment_id: orNull('Of the payment, also if it is not among ours'),
      charge_id: orNull('Of the processor'),
      route: orNull('Of the payment; null if it is not among ours'),
      difference: Type.String({ description: 'The difference, as the rest of a sentence' }),
    }),
    strictObject({
      type: Type.Literal('end'),
      ...counts,
      differences: Type.Integer(),
      unfinished: orNull('Why not everything was compared; null if it was'),
    }),
    strictObject({
      type: Type.Literal('error'),
      error: Type.Object({}, { description: 'As `body.error` of a response' }),
    }),
  ]),
);

const query = strictObject({
  processor: Type.String({ description: 'The processor whose records are compared', examples: ['stripe'] }),
  from: Type.Optional(
    Type.String({ description: 'The beginning of the period (RFC 3339); by default a day before its end' }),
  ),
  until: Type.Optional(
    Type.String({ description: 'Its end; by default now. The period has at most 32 days' }),
  ),
});

async function* linesOf(begin: object, reconciliation: Reconciliation): AsyncGenerator<object> {
  yield begin;
  let differences = 0;
  for await (const difference of reconciliation.differences()) {
    differences++;
    yield { type: 'difference', ...publicDifference(difference) };
  }
  // Before the last line: its reader may begin another reconciliation at once.
  reconciliation.end();
  const unfinished = reconciliation.unfinished ?? null;
  yield { type: 'end', ...publicCounts(reconciliation), differences, unfinished };
}

function publicCounts({ counts: { payments, charges, others } }: Reconciliation) {
  return { payments, charges, others };
}

function iso(time: number): string {
  return new Date(time).toISOString();
}

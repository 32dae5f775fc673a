import { newId, type StripeLedger } from './ledger.ts';
import type { Charge, Refund } from './objects.ts';
import { given, impossible, invalid, type Reply } from './replies.ts';
import { type Fields, metadataOf } from './request.ts';

/** `POST /v1/refunds`: scripted by the word of the token of the charge. */
export async function makeRefund(ledger: StripeLedger, fields: Fields): Promise<Reply> {
  const charged = ledger.charges.get(fields.charge ?? '');
  if (charged === undefined) return invalid({ code: 'resource_missing', param: 'charge' });
  const { item: charge, word } = charged;
  const left = charge.status === 'succeeded' ? charge.amount - charge.amount_refunded : 0;
  const amount = Number(fields.amount ?? left);
  if (!Number.isInteger(amount) || amount < 1) return invalid({ param: 'amount' });
  if (left === 0) return impossible({ code: 'charge_already_refunded' });
  if (amount > left) {
    const message = `Refund amount (${amount}) is greater than unrefunded amount on charge (${left})`;
    return impossible({ message, param: 'amount' });
  }
  const script = ledger.scriptOf(word) ?? {};
  if (script.refundError !== undefined && !script.refunds) return script.refundError;
  const refund: Refund = {
    id: newId('re'),
    object: 'refund',
    amount,
    currency: charge.currency,
    status: script.refundStatus ?? 'succeeded',
    created: ledger.seconds(),
    metadata: metadataOf(fields),
    charge: charge.id,
    payment_intent: charge.payment_intent,
  };
  putRefund(ledger, charge, word, refund);
  return script.refundError ?? given(refund);
}

/** Changes the status of a refund, as when a bank returns the money. */
export function settleRefund(ledger: StripeLedger, id: string, status: Refund['status']): void {
  const refund = ledger.refunds.get(id);
  const charged = ledger.charges.get(refund?.charge ?? '');
  if (refund === undefined || charged === undefined) throw new RangeError(`there is no refund ${id}`);
  putRefund(ledger, charged.item, charged.word, { ...refund, status });
}

function putRefund(ledger: StripeLedger, charge: Charge, word: string, refund: Refund): void {
  ledger.refunds.put(refund.id, refund);
  const amounts = ledger.refunds
    .values()
    .filter((each) => each.charge === charge.id && !['failed', 'canceled'].includes(each.status))
    .map(({ amount }) => amount);
  ledger.putCharge({ ...charge, amount_refunded: amounts.reduce((sum, each) => sum + each, 0) }, word);
}

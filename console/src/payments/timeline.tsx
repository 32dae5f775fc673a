import type { Payment } from '@counterfoil/client';
import type { ComponentChildren } from 'preact';
import { written } from '../money.ts';
import { Time } from '../parts/time.tsx';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';

/** The history of a payment: its request, its outcome, the item that it made, its refunds and disputes. */
export function Timeline({ payment }: { readonly payment: Payment }) {
  const { session } = useConnection();
  const amountOf = (amount: number) => written(session, amount, payment.currency);
  const { item } = payment;
  return (
    <ol class="timeline">
      <Step at={payment.created_at}>{texts.payment.requested}</Step>
      <Step tone={payment.status}>
        {payment.decline_code === null
          ? texts.payments.statuses[payment.status]
          : texts.payment.declined(payment.decline_code)}
        {payment.charge_id !== null && <span class="code"> {payment.charge_id}</span>}
      </Step>
      {item !== null && (
        <Step>
          {texts.payment.itemMade(item.table, item.id ?? '…')}: {texts.payment.itemStatuses[item.status]}
        </Step>
      )}
      {payment.refunds.map((refund) => (
        <Step key={refund.refund_id} at={refund.created_at} tone={refund.status}>
          {texts.payment.refundOf(amountOf(refund.amount), texts.payments.refundStatuses[refund.status])}
          {refund.processor_refund_id !== null && <span class="code"> {refund.processor_refund_id}</span>}
        </Step>
      ))}
      {payment.disputes.map(({ id, amount, status, reason }) => (
        <Step key={id} tone="needs_review">
          {texts.payment.disputeOf(amountOf(amount), `${status}, ${reason}`)} <span class="code">{id}</span>
        </Step>
      ))}
    </ol>
  );
}

function Step({
  at,
  tone = '',
  children,
}: {
  readonly at?: string;
  readonly tone?: string;
  readonly children: ComponentChildren;
}) {
  return (
    <li class={tone}>
      <div>{children}</div>
      {at !== undefined && <Time at={at} />}
    </li>
  );
}

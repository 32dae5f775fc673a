import type { Payment } from '@counterfoil/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'preact/compat';
import { useState } from 'preact/hooks';
import { openPaymentsMs } from '../limits.ts';
import { written } from '../money.ts';
import { Problem } from '../parts/problem.tsx';
import { may } from '../service.ts';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';
import { dashboardUrl } from './dashboards.ts';
import { ReviewSteps } from './review-steps.tsx';
import { Timeline } from './timeline.tsx';

const api = getRouteApi('/payments/$processor/$route/$id');
const RefundDialog = lazy(() => import('./refund-dialog.tsx'));

export default function PaymentView() {
  const { processor, route, id } = api.useParams();
  const { client } = useConnection();
  const queries = useQueryClient();
  const queryKey = ['payment', processor, route, id];
  const { data, error, refetch } = useQuery({
    queryKey,
    queryFn: ({ signal }) => client.payments.get({ processor, route, paymentId: id, signal }),
    refetchInterval: openPaymentsMs,
  });
  return (
    <>
      <p>
        <Link to="/payments" search={{}}>
          {texts.payment.back}
        </Link>
      </p>
      {error !== null && <Problem error={error} again={() => void refetch()} />}
      {data === undefined ? (
        error === null && <p>{texts.loading}</p>
      ) : (
        <Found
          key={data.id}
          payment={data}
          route={route}
          changed={() => void queries.invalidateQueries({ queryKey })}
        />
      )}
    </>
  );
}

interface FoundProps {
  readonly payment: Payment;
  readonly route: string;
  readonly changed: () => void;
}

function Found({ payment, route, changed }: FoundProps) {
  const { session } = useConnection();
  // The payment as it was when the dialog was opened.
  const [refunded, setRefunded] = useState<Payment>();
  const left = payment.amount - payment.amount_refunded;
  const canRefund = payment.status === 'succeeded' && left > 0 && may(session, 'payments:refund');
  return (
    <>
      <h1>
        {written(session, payment.amount, payment.currency)}{' '}
        <span class={`status ${payment.status}`}>{texts.payments.statuses[payment.status]}</span>
      </h1>
      {canRefund && (
        <button type="button" class="primary" onClick={() => setRefunded(payment)}>
          {texts.refund.open}
        </button>
      )}
      {payment.status === 'needs_review' && <ReviewSteps id={payment.id} />}
      <h2>{texts.payment.timeline}</h2>
      <Timeline payment={payment} />
      <h2>{texts.payment.details}</h2>
      <Details payment={payment} route={route} />
      <Metadata payment={payment} />
      {refunded !== undefined && (
        <Suspense fallback={null}>
          <RefundDialog
            payment={refunded}
            route={route}
            changed={changed}
            close={() => setRefunded(undefined)}
          />
        </Suspense>
      )}
    </>
  );
}

function Details({ payment, route }: { readonly payment: Payment; readonly route: string }) {
  const { session } = useConnection();
  const { fields } = texts.payment;
  const dashboard = dashboardUrl(payment);
  const rows: readonly (readonly [string, string | null])[] = [
    [fields.id, payment.id],
    [fields.charge, payment.charge_id],
    [fields.processor, payment.processor],
    [fields.route, route],
    [fields.description, payment.description],
    [fields.suffix, payment.statement_descriptor_suffix],
    [
      fields.refunded,
      payment.amount_refunded === 0 ? null : written(session, payment.amount_refunded, payment.currency),
    ],
  ];
  return (
    <>
      <dl class="details">
        {rows.map(
          ([name, value]) =>
            value !== null && (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ),
        )}
      </dl>
      {dashboard !== undefined && (
        <p>
          <a href={dashboard} target="_blank" rel="noreferrer">
            {texts.payment.dashboard(payment.processor)}
          </a>
        </p>
      )}
    </>
  );
}

function Metadata({ payment: { metadata } }: { readonly payment: Payment }) {
  const entries = Object.entries(metadata);
  if (entries.length === 0) return null;
  return (
    <>
      <h2>{texts.payment.metadata}</h2>
      <dl class="details">
        {entries.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}

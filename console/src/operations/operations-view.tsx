import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'preact/compat';
import { metricsMs } from '../limits.ts';
import { Problem } from '../parts/problem.tsx';
import { may } from '../service.ts';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';

const Plots = lazy(() => import('./plots.tsx'));
const Doctor = lazy(() => import('./doctor.tsx'));

interface Ready {
  /** The operations that respond with 503 although the service is ready. */
  readonly shut?: readonly string[];
}

function readyText({ shut = [] }: Ready): string {
  return shut.includes('payments') ? texts.operations.paymentsShut : texts.operations.ready;
}

/** Whether the service is ready, what its doctor finds, and what its metrics say. */
export default function OperationsView() {
  const { session, calls } = useConnection();
  const { data, error, refetch } = useQuery({
    queryKey: ['ready'],
    queryFn: async ({ signal }) => JSON.parse(await calls.text('/readyz', signal)).body as Ready,
    refetchInterval: metricsMs,
  });
  return (
    <>
      <h1>{texts.operations.title}</h1>
      <dl class="details">
        <div>
          <dt>{texts.operations.health}</dt>
          <dd>
            <span role="status">
              {data !== undefined && error === null ? readyText(data) : texts.loading}
            </span>
          </dd>
        </div>
        <div>
          <dt>{texts.operations.version}</dt>
          <dd>{session.version}</dd>
        </div>
      </dl>
      {error !== null && <Problem error={error} again={() => void refetch()} />}
      {may(session, 'admin') && (
        <Suspense fallback={<p>{texts.loading}</p>}>
          <Doctor />
        </Suspense>
      )}
      {may(session, 'metrics:read') && (
        <Suspense fallback={<p>{texts.loading}</p>}>
          <Plots />
        </Suspense>
      )}
    </>
  );
}

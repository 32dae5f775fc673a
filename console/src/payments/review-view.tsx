import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'preact/hooks';
import { openPaymentsMs } from '../limits.ts';
import { written } from '../money.ts';
import { Problem } from '../parts/problem.tsx';
import { Time } from '../parts/time.tsx';
import { placesOf } from '../service.ts';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';
import { paymentsThatNeedReview } from './needs-review.ts';
import { ReviewSteps } from './review-steps.tsx';

/** The payments that only a person can end, oldest first. */
export default function ReviewView() {
  const { session, client } = useConnection();
  const places = useMemo(() => placesOf(session), [session]);
  const { data, error, refetch } = useQuery({
    queryKey: ['review', places],
    queryFn: ({ signal }) => paymentsThatNeedReview(client, places, signal),
    refetchInterval: openPaymentsMs,
  });
  return (
    <>
      <h1>{texts.review.title}</h1>
      {error !== null && <Problem error={error} again={() => void refetch()} />}
      {data === undefined && error === null && <p>{texts.loading}</p>}
      {data?.length === 0 && <p>{texts.review.none}</p>}
      {data !== undefined && data.length > 0 && <p>{texts.review.explanation}</p>}
      <ul class="inbox">
        {data?.map(({ id, processor, route, amount, currency, created_at }) => (
          <li key={id}>
            <h2>
              <Link to="/payments/$processor/$route/$id" params={{ processor, route, id }}>
                {written(session, amount, currency)}
              </Link>
            </h2>
            <p>
              <span class="code">{id}</span> · {`${processor}/${route}`} · <Time at={created_at} />
            </p>
            <ReviewSteps id={id} />
          </li>
        ))}
      </ul>
    </>
  );
}

import type { ApiKey } from '@counterfoil/client/operator';
import { Time } from '../parts/time.tsx';
import { may } from '../service.ts';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';
import { covers, sentencesOf } from './api-key.ts';

const { fields, kinds, never, own, rotate, revoke } = texts.apiKeys;

/** One key: what it may do, its times, and what the reader may do with it. */
export function KeyCard({
  apiKey,
  change,
}: {
  readonly apiKey: ApiKey;
  readonly change: ((what: 'rotate' | 'revoke', apiKey: ApiKey) => void) | undefined;
}) {
  const { session } = useConnection();
  const { id, name, kind, created_at, expires_at, revoked_at, last_used_at, previous_until } = apiKey;
  return (
    <li>
      <h3>{name}</h3>
      {session.key?.id === id && <p>{own}</p>}
      <dl class="details">
        <div>
          <dt>{fields.allows}</dt>
          <dd>
            <ul class="sentences">
              {sentencesOf(apiKey).map((sentence) => (
                <li key={sentence}>{sentence}</li>
              ))}
            </ul>
          </dd>
        </div>
        {kind === 'publishable' && (
          <div>
            <dt>{fields.kind}</dt>
            <dd>{kinds[kind]}</dd>
          </div>
        )}
        {(
          [
            [fields.lastUsed, last_used_at ?? never],
            [fields.expires, expires_at ?? never],
            [fields.revoked, revoked_at],
            [fields.previous, previous_until],
            [fields.created, created_at],
          ] as const
        ).map(
          ([label, at]) =>
            at !== null && (
              <div key={label}>
                <dt>{label}</dt>
                <dd>{at === never ? never : <Time at={at} />}</dd>
              </div>
            ),
        )}
        {apiKey.created_by !== null && (
          <div>
            <dt>{fields.createdBy}</dt>
            <dd class="code">{apiKey.created_by}</dd>
          </div>
        )}
        <div>
          <dt>{fields.id}</dt>
          <dd class="code">{id}</dd>
        </div>
      </dl>
      {change !== undefined && may(session, 'keys:write') && covers(session, apiKey) && (
        <div class="actions">
          <button type="button" onClick={() => change('rotate', apiKey)}>
            {rotate(name)}
          </button>
          <button type="button" onClick={() => change('revoke', apiKey)}>
            {revoke(name)}
          </button>
        </div>
      )}
    </li>
  );
}

import { useQuery } from '@tanstack/react-query';
import { Empty } from '../parts/empty.tsx';
import { Problem } from '../parts/problem.tsx';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';

interface Integration {
  readonly provider: string;
  readonly name: string;
  readonly client_id: string;
  readonly issuer?: string;
  readonly redirect_uri: string;
  readonly sign_in_url: string;
  readonly return_urls: readonly string[];
}

/** The sign-in integrations, each with the address that its provider must know, and a link to try it. */
export function IntegrationList() {
  const { calls, session } = useConnection();
  const { data, error, refetch } = useQuery({
    queryKey: ['integrations'],
    queryFn: ({ signal }) => calls.list<Integration>('/v3/service/auth', signal),
  });
  const { fields, integrations, noIntegrations, command, tryIt } = texts.people;
  return (
    <>
      <h2>{integrations}</h2>
      {error !== null && <Problem error={error} again={() => void refetch()} />}
      {data?.length === 0 && (
        <Empty title={noIntegrations} command={command(`${location.origin}${session.base_path}/v3`)} />
      )}
      <ul class="inbox">
        {data?.map((integration) => (
          <li key={`${integration.provider}/${integration.name}`}>
            <h3>{`${integration.provider}/${integration.name}`}</h3>
            <dl class="details">
              {(
                [
                  [fields.issuer, integration.issuer],
                  [fields.clientId, integration.client_id],
                  [fields.redirectUri, integration.redirect_uri],
                  [fields.returnUrls, integration.return_urls.join('\n')],
                ] as const
              ).map(
                ([name, value]) =>
                  value !== undefined &&
                  value !== '' && (
                    <div key={name}>
                      <dt>{name}</dt>
                      <dd>{value}</dd>
                    </div>
                  ),
              )}
            </dl>
            <p>
              <a href={integration.sign_in_url} target="_blank" rel="noreferrer">
                {tryIt(integration.name)}
              </a>
            </p>
          </li>
        ))}
      </ul>
    </>
  );
}

import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'preact/compat';
import { useState } from 'preact/hooks';
import { Empty } from '../parts/empty.tsx';
import { Problem } from '../parts/problem.tsx';
import { may } from '../service.ts';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';
import { type Integration, labelOf } from './integration.ts';

const IntegrationDialog = lazy(() => import('./integration-dialog.tsx'));
const ApproveIntegration = lazy(() => import('./approve-integration.tsx'));
const DeleteIntegration = lazy(() => import('./delete-integration.tsx'));

interface Opened {
  readonly what: 'form' | 'delete' | 'approve';
  /** Undefined for a new one. */
  readonly integration: Integration | undefined;
}

const { approval } = texts.integration;

/**
 * The sign-in integrations, each with the address that its provider must know and a link to try it. They can be added,
 * edited, approved for this console and deleted here.
 */
export function IntegrationList() {
  const { calls, session } = useConnection();
  const [opened, setOpened] = useState<Opened>();
  const canWrite = may(session, 'integrations:write');
  const canApprove = session.mode !== 'open' && may(session, 'admin');
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
      {canWrite && (
        <button type="button" onClick={() => setOpened({ what: 'form', integration: undefined })}>
          {texts.people.addIntegration}
        </button>
      )}
      <ul class="inbox">
        {data?.map((integration) => (
          <li key={labelOf(integration)}>
            <h3>{labelOf(integration)}</h3>
            <dl class="details">
              {(
                [
                  [fields.issuer, integration.issuer],
                  [fields.clientId, integration.client_id],
                  [fields.redirectUri, integration.redirect_uri],
                  [fields.returnUrls, integration.return_urls.join('\n')],
                  [fields.console, integration.console_approved_at === null ? approval.no : approval.yes],
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
            {canWrite && (
              <div class="actions">
                {canApprove && (
                  <button type="button" onClick={() => setOpened({ what: 'approve', integration })}>
                    {(integration.console_approved_at === null ? approval.approve : approval.withdraw)(
                      labelOf(integration),
                    )}
                  </button>
                )}
                <button type="button" onClick={() => setOpened({ what: 'form', integration })}>
                  {texts.people.editIntegration(labelOf(integration))}
                </button>
                <button type="button" onClick={() => setOpened({ what: 'delete', integration })}>
                  {texts.people.deleteIntegration(labelOf(integration))}
                </button>
              </div>
            )}
          </li>
        ))}
      </ul>
      {opened !== undefined && (
        <Suspense fallback={null}>
          <OpenedDialog
            opened={opened}
            close={() => setOpened(undefined)}
            changed={() => {
              setOpened(undefined);
              void refetch();
            }}
          />
        </Suspense>
      )}
    </>
  );
}

function OpenedDialog({
  opened: { what, integration },
  ...props
}: {
  readonly opened: Opened;
  readonly close: () => void;
  readonly changed: () => void;
}) {
  if (integration === undefined || what === 'form')
    return <IntegrationDialog integration={integration} {...props} />;
  const Dialog = what === 'delete' ? DeleteIntegration : ApproveIntegration;
  return <Dialog integration={integration} {...props} />;
}

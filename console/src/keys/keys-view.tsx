import type { ApiKey } from '@counterfoil/client/operator';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'preact/compat';
import { useState } from 'preact/hooks';
import { Empty } from '../parts/empty.tsx';
import { Problem } from '../parts/problem.tsx';
import { may } from '../service.ts';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';
import { readKeys } from './api-key.ts';
import { KeyCard } from './key-card.tsx';

const CreateKey = lazy(() => import('./create-key.tsx'));
const RotateKey = lazy(() => import('./rotate-key.tsx'));
const RevokeKey = lazy(() => import('./revoke-key.tsx'));

type Opened = { readonly what: 'create' } | { readonly what: 'rotate' | 'revoke'; readonly apiKey: ApiKey };

const { apiKeys } = texts;

/** The API keys, newest first, each with its rights. Keys can be created, rotated and revoked here. */
export default function KeysView() {
  const { client, session } = useConnection();
  const [opened, setOpened] = useState<Opened>();
  const { data, error, refetch } = useQuery({
    queryKey: ['keys'],
    queryFn: ({ signal }) => readKeys(client, signal),
    // The key that a dialog changes may be the key of this session. Reading the list could then end the session, which
    // would close the dialog and lose the only view of a secret.
    enabled: opened === undefined,
  });
  const newest = data?.toReversed() ?? [];
  const isValid = ({ status }: ApiKey) => status === 'valid';
  const close = () => setOpened(undefined);
  const change = (what: 'rotate' | 'revoke', apiKey: ApiKey) => setOpened({ what, apiKey });
  return (
    <>
      <h1>{apiKeys.title}</h1>
      {error !== null && <Problem error={error} again={() => void refetch()} />}
      {data === undefined && error === null && <p>{texts.loading}</p>}
      {data?.length === 0 && (
        <Empty title={apiKeys.none} command={apiKeys.command}>
          <p>{apiKeys.noneYet}</p>
        </Empty>
      )}
      {session.mode !== 'open' && may(session, 'keys:write') && (
        <button type="button" onClick={() => setOpened({ what: 'create' })}>
          {apiKeys.create}
        </button>
      )}
      <KeyGroup title={apiKeys.valid} apiKeys={newest.filter(isValid)} change={change} />
      <KeyGroup title={apiKeys.ended} apiKeys={newest.filter((each) => !isValid(each))} />
      {opened !== undefined && (
        <Suspense fallback={null}>
          <OpenedDialog
            opened={opened}
            close={() => {
              close();
              void refetch();
            }}
          />
        </Suspense>
      )}
    </>
  );
}

function KeyGroup({
  title,
  apiKeys: shown,
  change,
}: {
  readonly title: string;
  readonly apiKeys: readonly ApiKey[];
  readonly change?: (what: 'rotate' | 'revoke', apiKey: ApiKey) => void;
}) {
  if (shown.length === 0) return null;
  return (
    <>
      <h2>{title}</h2>
      <ul class="inbox">
        {shown.map((each) => (
          <KeyCard key={each.id} apiKey={each} change={change} />
        ))}
      </ul>
    </>
  );
}

function OpenedDialog({ opened, close }: { readonly opened: Opened; readonly close: () => void }) {
  if (opened.what === 'create') return <CreateKey close={close} />;
  const Dialog = opened.what === 'rotate' ? RotateKey : RevokeKey;
  return <Dialog apiKey={opened.apiKey} close={close} />;
}

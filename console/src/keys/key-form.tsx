import type { CreateKey, Scope, ShownApiKey } from '@counterfoil/client/operator';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Field, fieldOf, stateOf, Text } from '../parts/field.tsx';
import { Problem } from '../parts/problem.tsx';
import { may } from '../service.ts';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';
import { scopesToGive } from './api-key.ts';
import { ScopeChoice } from './scope-choice.tsx';

const { form: labels, kinds } = texts.apiKeys;

interface KeyFormProps {
  readonly isSending: boolean;
  readonly setSending: (isSending: boolean) => void;
  readonly close: () => void;
  readonly created: (made: ShownApiKey) => void;
}

/**
 * The form for a new key. It offers the rights that the key of the session can give. An error of the service appears at
 * its field.
 */
export function KeyForm({ isSending, setSending, close, created }: KeyFormProps) {
  const { client, session } = useConnection();
  const [kind, setKind] = useState<'secret' | 'publishable'>('secret');
  const [chosen, setChosen] = useState<readonly Scope[]>([]);
  const [error, setError] = useState<unknown>();
  const form = useRef<HTMLFormElement>(null);
  const scopes: readonly Scope[] = kind === 'publishable' ? ['payments:create'] : chosen;
  const concerns = (domain: string) =>
    !scopes.includes('admin') && scopes.some((scope) => scope.startsWith(domain));
  const wrong = fieldOf(error);
  const isAtField = wrong !== undefined && form.current?.elements.namedItem(wrong) != null;
  useEffect(() => {
    if (error !== undefined) form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus();
  }, [error]);
  const problemOf = (name: string) =>
    name === wrong && error instanceof Error ? { id: `wrong-${name}`, text: error.message } : undefined;
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (isSending) return;
    setError(undefined);
    setSending(true);
    try {
      const request = requestOf(new FormData(event.currentTarget as HTMLFormElement), kind, scopes);
      created(await client.keys.create(request));
    } catch (thrown) {
      setError(thrown);
    }
    setSending(false);
  };
  const lines = (name: 'tables' | 'routes' | 'origins', value?: readonly string[] | null) => (
    <Field label={labels[name]} problem={problemOf(name)}>
      <textarea
        name={name}
        rows={2}
        spellcheck={false}
        defaultValue={value?.join('\n')}
        {...stateOf(problemOf(name))}
      />
    </Field>
  );
  return (
    <form ref={form} onSubmit={(event) => void submit(event)}>
      <Text label={labels.name} name="name" problem={problemOf('name')} />
      {may(session, 'payments:create') && (
        <Field label={labels.kind} problem={problemOf('kind')}>
          <select
            value={kind}
            onChange={(event) => setKind(event.currentTarget.value as 'secret' | 'publishable')}
          >
            {Object.entries(kinds).map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </Field>
      )}
      {kind === 'secret' && (
        <ScopeChoice
          offered={scopesToGive(session)}
          chosen={chosen}
          choose={setChosen}
          problem={problemOf('scopes')}
        />
      )}
      {concerns('tables:') && lines('tables', session.tables)}
      {concerns('payments:') && lines('routes', session.routes)}
      {kind === 'publishable' && lines('origins')}
      <Field label={labels.expires} problem={problemOf('expires_at')}>
        <input type="datetime-local" name="expires_at" {...stateOf(problemOf('expires_at'))} />
      </Field>
      {error !== undefined && !isAtField && <Problem error={error} />}
      <div class="actions">
        <button type="button" disabled={isSending} onClick={close}>
          {texts.item.cancel}
        </button>
        <button type="submit" class="primary" disabled={isSending}>
          {labels.submit}
        </button>
      </div>
    </form>
  );
}

function requestOf(data: FormData, kind: 'secret' | 'publishable', scopes: readonly Scope[]): CreateKey {
  const lines = (field: string) => {
    const all = String(data.get(field) ?? '')
      .split(/\s+/)
      .filter(Boolean);
    return all.length === 0 ? {} : { [field]: all };
  };
  const expires = String(data.get('expires_at') ?? '');
  return {
    kind,
    name: String(data.get('name')),
    scopes,
    ...lines('tables'),
    ...lines('routes'),
    ...lines('origins'),
    // The field contains a time in the reader's zone.
    ...(expires === '' ? {} : { expiresAt: new Date(expires) }),
  };
}

import { useEffect, useRef, useState } from 'preact/hooks';
import { Field, fieldOf, stateOf, Text } from '../parts/field.tsx';
import { Problem } from '../parts/problem.tsx';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';
import { type Integration, pathOf, providers } from './integration.ts';

interface IntegrationFormProps {
  /** Undefined for a new one. */
  readonly current: Integration | undefined;
  readonly close: () => void;
  readonly saved: () => void;
}

/** The form for the registration of an integration. An error of the service appears at its field. */
export function IntegrationForm({ current, close, saved }: IntegrationFormProps) {
  const { calls } = useConnection();
  const [provider, setProvider] = useState(current?.provider ?? 'oidc');
  const [isSending, setSending] = useState(false);
  const [error, setError] = useState<unknown>();
  const form = useRef<HTMLFormElement>(null);
  const wrong = fieldOf(error);
  const isAtField = wrong !== undefined && form.current?.elements.namedItem(wrong) != null;
  useEffect(() => {
    if (error !== undefined) form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus();
  }, [error]);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (isSending) return;
    setError(undefined);
    setSending(true);
    try {
      const data = new FormData(event.currentTarget as HTMLFormElement);
      await calls.send(...requestOf(data, provider, current));
      saved();
    } catch (thrown) {
      setSending(false);
      setError(thrown);
    }
  };
  const problemOf = (name: string) =>
    name === wrong && error instanceof Error ? { id: `wrong-${name}`, text: error.message } : undefined;
  const { name, issuer, clientId, clientSecret, returnUrls, secretAgain, issuerEnds, verify } =
    texts.integration;
  return (
    <form ref={form} onSubmit={(event) => void submit(event)}>
      {current === undefined && (
        <>
          <Field label={texts.integration.provider} problem={problemOf('identity_provider')}>
            <select
              name="identity_provider"
              value={provider}
              {...stateOf(problemOf('identity_provider'))}
              onChange={(event) => setProvider(event.currentTarget.value)}
            >
              {providers.map((each) => (
                <option key={each}>{each}</option>
              ))}
            </select>
          </Field>
          <Text label={name} name="INTEGRATION_NAME" problem={problemOf('INTEGRATION_NAME')} />
        </>
      )}
      {provider === 'oidc' && (
        <Text label={issuer} name="IDP_ISSUER" value={current?.issuer} problem={problemOf('IDP_ISSUER')} />
      )}
      {current?.issuer !== undefined && <p>{issuerEnds}</p>}
      <Text
        label={clientId}
        name="IDP_CLIENT_ID"
        value={current?.client_id}
        problem={problemOf('IDP_CLIENT_ID')}
      />
      <Text label={clientSecret} name="IDP_CLIENT_SECRET" isSecret problem={problemOf('IDP_CLIENT_SECRET')} />
      {current !== undefined && <p>{secretAgain}</p>}
      <Field label={returnUrls} problem={problemOf('return_urls')}>
        <textarea
          name="return_urls"
          rows={3}
          spellcheck={false}
          defaultValue={current?.return_urls.join('\n')}
          {...stateOf(problemOf('return_urls'))}
        />
      </Field>
      <label>
        <input type="checkbox" name="verify" defaultChecked />
        {verify}
      </label>
      {error !== undefined && !isAtField && <Problem error={error} />}
      <div class="actions">
        <button type="button" onClick={close}>
          {texts.item.cancel}
        </button>
        <button type="submit" class="primary" disabled={isSending}>
          {texts.item.save}
        </button>
      </div>
    </form>
  );
}

/** The request that registers the integration, or replaces its registration. */
function requestOf(
  data: FormData,
  provider: string,
  current: Integration | undefined,
): [method: string, path: string, body: object] {
  const text = (field: string) => String(data.get(field) ?? '').trim();
  const path =
    current === undefined
      ? `/v3/create${pathOf({ provider, name: text('INTEGRATION_NAME') }).slice('/v3'.length)}`
      : pathOf(current);
  const body = {
    IDP_CLIENT_ID: text('IDP_CLIENT_ID'),
    IDP_CLIENT_SECRET: text('IDP_CLIENT_SECRET'),
    ...(provider === 'oidc' ? { IDP_ISSUER: text('IDP_ISSUER') } : {}),
    return_urls: text('return_urls').split(/\s+/).filter(Boolean),
    // The form does not show the scopes. Without them, the default scopes would replace those of the registration.
    ...(current === undefined ? {} : { scopes: current.scopes }),
  };
  return [current === undefined ? 'POST' : 'PUT', `${path}?verify=${data.get('verify') === 'on'}`, body];
}

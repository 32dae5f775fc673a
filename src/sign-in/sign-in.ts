import type { Requester } from '../audit/audit.ts';
import type { ServiceError } from '../errors.ts';
import type { IdentityProvider } from '../identity/provider.ts';
import type { Sealer } from '../secrets/sealer.ts';
import type { Engine } from '../storage/engine.ts';
import type { Metrics } from '../telemetry.ts';
import { AccessEnding } from './access-ending.ts';
import { againUrl, beginSignIn, type SignInLink } from './begin-sign-in.ts';
import { currentSession, providerSignOutUrl, signOut } from './browser-session.ts';
import type { ApprovedClient } from './console-approvals.ts';
import type { ConsoleSignIns } from './console-sign-ins.ts';
import { integrationUrls, type SignInContext } from './context.ts';
import { endByProvider, type ProviderLogout } from './end-by-provider.ts';
import { type Callback, type FinishedSignIn, finishSignIn } from './finish-sign-in.ts';
import { type IntegrationPage, Integrations } from './integrations.ts';
import { OneTimeIds } from './one-time-ids.ts';
import { PendingSignIns } from './pending-sign-ins.ts';
import { People } from './people.ts';
import type { RegistrationFields } from './registration.ts';
import { Sessions } from './sessions.ts';
import { SignInError } from './sign-in-error.ts';
import { SigningKeys } from './tokens/signing-keys.ts';
import { type GrantedTokens, TokenGrants } from './tokens/token-grants.ts';
import type { TokenRequest } from './tokens/token-request.ts';
import {
  type BegunSignIn,
  type Integration,
  isProviderName,
  type ProviderName,
  type Session,
  type SignInRequest,
} from './types.ts';
import { Users } from './users.ts';
import { verifyProvider } from './verify-provider.ts';

export { ConsoleApprovals } from './console-approvals.ts';
export { ConsoleSignIns } from './console-sign-ins.ts';
export { People } from './people.ts';
export { NotAdministrator, SignInError } from './sign-in-error.ts';
export { sealedClientSecrets } from './stored-integration.ts';
export { sealedSigningKeys } from './tokens/signing-keys.ts';

export interface SignInOptions {
  readonly engine: Engine;
  readonly sealer: Sealer;
  readonly providers: Readonly<Record<ProviderName, IdentityProvider>>;
  /** Whether the operator has named a host, which the service may then call over http. */
  readonly isNamed: (host: string) => boolean;
  /** Decides about sign-ins to the console. */
  readonly console: ConsoleSignIns;
  /** The public origin of the service. */
  readonly origin: string;
  /** The path in front of `/v3`. */
  readonly prefix: string;
  readonly metrics: Metrics;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

interface Named {
  readonly provider: string;
  readonly name: string;
}

/**
 * Signs people in by identity providers, and keeps the registry of their integrations. A method that takes the name of
 * an integration throws `provider_not_found`, `integration_not_found`, and `invalid_request` for a name that no
 * integration can have. Changes are durable when their promise resolves. Each is in one commit with its audit entry.
 */
export class SignIn {
  /** The users, and their sessions. */
  readonly people: People;
  readonly origin: string;
  readonly prefix: string;
  readonly now: () => number;
  readonly #context: SignInContext;
  readonly #metrics: Metrics;
  readonly #tokens: TokenGrants;
  readonly #signingKeys: SigningKeys;

  constructor(options: SignInOptions) {
    const { engine, sealer, providers, isNamed, console, origin, prefix, metrics, now } = options;
    this.origin = origin;
    this.prefix = prefix;
    this.now = now;
    this.#metrics = metrics;
    const integrations = new Integrations(engine, sealer, now, isNamed);
    const oneTimeIds = new OneTimeIds(engine, now);
    this.#signingKeys = new SigningKeys({ engine, sealer, now });
    this.#tokens = new TokenGrants({
      engine,
      keys: this.#signingKeys,
      issuer: origin + prefix,
      findRegistration: (provider, name) => integrations.findRegistration(provider, name),
      now,
    });
    this.#context = {
      integrations,
      pending: new PendingSignIns({ engine, sealer, oneTimeIds, now }),
      oneTimeIds,
      sessions: new Sessions(engine, now),
      users: new Users(engine, now),
      accessEnding: new AccessEnding(engine, now),
      providers,
      appTokens: this.#tokens,
      console,
      origin,
      prefix,
      now,
    };
    this.people = new People(this.#context);
  }

  /**
   * Begins a sign-in: returns the address to send the browser to, and the cookie that it must store. Nothing is
   * written. Throws SignInError if the link is incomplete or the provider does not respond, and `forbidden` for a
   * sign-in to the console with an integration that is not approved for it.
   */
  async begin(link: SignInLink): Promise<BegunSignIn & { readonly authorizationUrl: string }> {
    const begun = await beginSignIn(this.#context, link);
    this.#count(link.provider, 'begun');
    return begun;
  }

  /**
   * Finishes the sign-in of a callback, and opens a session. Each sign-in finishes once. Throws SignInError with the
   * step that failed, and NotAdministrator if a person who is not an administrator signs in to the console.
   *
   * @returns undefined if this browser is already signed in by this sign-in, because the user went back
   */
  async finish(callback: Callback): Promise<FinishedSignIn | undefined> {
    const finished = await finishSignIn(this.#context, callback);
    if (finished !== undefined) this.#count(callback.provider, 'finished');
    return finished;
  }

  /** Counts a sign-in that was rejected. */
  noteFailure(provider: string, error: ServiceError): void {
    this.#count(provider, error instanceof SignInError ? error.reason : error.code);
  }

  /** The address at which a sign-in starts again; undefined for names that no integration can have. */
  againUrl(integration: Named, request?: SignInRequest): string | undefined {
    return againUrl(this.#context, integration, request);
  }

  /** The session of a browser; also undefined if its integration was deleted or registered again since. */
  currentSession(cookie: string | undefined): Promise<Session | undefined> {
    return currentSession(this.#context, cookie);
  }

  /**
   * Ends the session of a browser with its tokens, or all sessions and tokens of its user. Waits at most `signOutUrlMsMax` for the
   * address at which the provider signs out.
   *
   * @returns undefined if nobody is signed in
   */
  async end(
    cookie: string | undefined,
    { isEverywhere, requestId }: { readonly isEverywhere: boolean; readonly requestId: string },
  ): Promise<{ readonly providerUrl: string | undefined } | undefined> {
    const session = cookie === undefined ? undefined : await this.#context.sessions.find(cookie);
    if (session === undefined) return undefined;
    await signOut(this.#context, { session, isEverywhere, requester: { by: 'user', requestId } });
    return { providerUrl: await providerSignOutUrl(this.#context, session) };
  }

  /** Ends the sessions that a provider's logout token names. Throws `invalid_request` for a token that is not valid. */
  endByProvider(logout: ProviderLogout): Promise<void> {
    return endByProvider(this.#context, logout);
  }

  /** Exchanges a one-time code or a refresh token for tokens. Throws `invalid_request` if it is not valid. */
  grantTokens({ provider, name }: Named, request: TokenRequest): Promise<GrantedTokens> {
    return this.#tokens.grant(provider, name, request);
  }

  /** Ends the refresh tokens of an app. Throws `invalid_request` for an access token, which cannot be revoked. */
  revokeToken({ provider, name }: Named, token: string): Promise<void> {
    return this.#tokens.revoke(provider, name, token);
  }

  /** The public keys that verify access tokens, for a JWK Set (RFC 7517, 5). */
  publishedKeys(): ReturnType<SigningKeys['published']> {
    return this.#signingKeys.published();
  }

  /** Registers credentials under a name. The same registration again returns the existing one. Throws `integration_exists`. */
  register({ provider, name }: Named, fields: RegistrationFields, by: Requester): Promise<Integration> {
    return this.#context.integrations.register(provider, name, fields, by);
  }

  /** Throws `invalid_request` if the provider of a registration cannot be discovered. Writes nothing. */
  verify({ provider, name }: Named, fields: RegistrationFields): Promise<void> {
    return verifyProvider(this.#context, provider, name, fields);
  }

  /**
   * Replaces a registration. Another issuer ends its sessions and its approval. Another client ends only the approval,
   * and not even that if `mayApprove` is true.
   */
  replace(
    { provider, name }: Named,
    fields: RegistrationFields,
    by: Requester & { readonly mayApprove: boolean },
  ): Promise<Integration> {
    return this.#context.integrations.replace(provider, name, fields, by);
  }

  integration({ provider, name }: Named): Promise<Integration> {
    return this.#context.integrations.find(provider, name);
  }

  /** A page of integrations, by provider and name. @param after the `next` of the previous page */
  integrations(provider: string | undefined, after: string | undefined): Promise<IntegrationPage> {
    return this.#context.integrations.list(provider, after);
  }

  /** Removes an integration. Its sessions end. */
  remove({ provider, name }: Named, by: Requester): Promise<void> {
    return this.#context.integrations.remove(provider, name, by);
  }

  /** Approves an integration for the console. Throws as `ConsoleApprovals.approve` does. */
  approve({ provider, name }: Named, client: ApprovedClient, by: Requester): Promise<Integration> {
    return this.#context.console.approvals.approve(provider, name, client, by);
  }

  /** Ends an approval, and the sessions of the console that depend on it. */
  withdrawApproval({ provider, name }: Named, by: Requester): Promise<Integration> {
    return this.#context.console.approvals.withdraw(provider, name, by);
  }

  /** The public addresses of the routes of an integration. */
  addresses(integration: Named): { readonly redirectUri: string; readonly signInUrl: string } {
    return integrationUrls(this.#context, integration);
  }

  /** Removes the records of used states and logout tokens that have expired. */
  sweepOneTimeIds(signal: AbortSignal): Promise<void> {
    return this.#context.oneTimeIds.sweep(signal);
  }

  /** Removes expired refresh tokens and signing keys. */
  sweepTokens(signal: AbortSignal): Promise<void> {
    return this.#tokens.sweep(signal);
  }

  /** Removes expired codes, and erases the tokens of exchanges that can no longer be repeated. */
  sweepCodes(): Promise<void> {
    return this.#tokens.sweepCodes();
  }

  #count(provider: string, outcome: string): void {
    this.#metrics.signIn(isProviderName(provider) ? provider : 'none', outcome);
  }
}

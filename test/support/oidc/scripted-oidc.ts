import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { exportJWK, exportSPKI, generateKeyPair, type JWTPayload, SignJWT } from 'jose';

type Json = Record<string, unknown>;

/** What a test changes of an honest provider. */
export interface Twists {
  /** The claims of the ID token. */
  claims?: (honest: JWTPayload) => JWTPayload;
  /** The ID token itself. */
  idToken?: (claims: JWTPayload) => Promise<string> | string;
  discovery?: (honest: Json) => Json;
  jwks?: (honest: { keys: Json[] }) => unknown;
  /** The parameters of the callback. */
  callback?: (honest: URLSearchParams) => URLSearchParams;
  token?: (honest: Json) => unknown;
  userinfo?: (honest: Json) => unknown;
  /** Sends the response itself if it returns true. */
  respond?: (path: string, response: ServerResponse) => boolean;
  /** Whether an exchange without the verifier of its challenge succeeds. */
  ignoresPkce?: boolean;
}

/** A certificate and its private key, in PEM. */
export interface Tls {
  readonly key: string;
  readonly cert: string;
}

interface Granted {
  readonly parameters: URLSearchParams;
}

export type SigningKey = Awaited<ReturnType<typeof newKey>>;

/** Generates a key of any algorithm. An RSA key takes long. */
async function newKey(alg: string) {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const kid = randomBytes(6).toString('hex');
  return { alg, kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' }, publicKey };
}

/** An OpenID Connect provider that approves every request, with the changes of `twists`. */
export class ScriptedOidc {
  twists: Twists = {};
  /** Paths of the requests, in order. */
  readonly asked: string[] = [];
  /** Bodies of the exchanges, in order. */
  readonly exchanges: URLSearchParams[] = [];
  /** Client secrets of the exchanges, in order (RFC 6749, 2.3.1). */
  readonly secrets: string[] = [];
  key: SigningKey;
  issuer = '';
  subject = 'user-1';
  /** The session id in the ID tokens, if any (OpenID Connect Back-Channel Logout 1.0, 2.1). */
  sid: string | undefined;
  readonly #codes = new Map<string, Granted>();
  readonly #server: ReturnType<typeof createServer>;

  private constructor(key: SigningKey, tls: Tls | undefined) {
    this.key = key;
    const listener = (request: IncomingMessage, response: ServerResponse) =>
      void this.#respond(request, response);
    this.#server = tls === undefined ? createServer(listener) : createSecureServer(tls, listener);
  }

  /** @param options.tls a certificate, to listen on https */
  static async start(
    t: TestContext,
    { alg = 'ES256', tls }: { alg?: string; tls?: Tls } = {},
  ): Promise<ScriptedOidc> {
    const provider = new ScriptedOidc(await newKey(alg), tls);
    await new Promise<void>((resolve) => {
      provider.#server.listen(0, '127.0.0.1', resolve);
    });
    const scheme = tls === undefined ? 'http' : 'https';
    provider.issuer = `${scheme}://127.0.0.1:${(provider.#server.address() as AddressInfo).port}`;
    t.after(() => provider.stop());
    return provider;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** Replaces the signing key. The key set has only the new one. */
  async rotate(): Promise<void> {
    this.key = await newKey(this.key.alg);
  }

  /** A key of the same algorithm that is not in the key set. */
  newKey(): Promise<SigningKey> {
    return newKey(this.key.alg);
  }

  /** The public key in PEM, for attacks that use it as an HMAC secret. */
  publicPem(): Promise<string> {
    return exportSPKI(this.key.publicKey);
  }

  sign(claims: JWTPayload, header: Json = {}, key = this.key): Promise<string> {
    return new SignJWT(claims)
      .setProtectedHeader({ alg: key.alg, kid: key.kid, ...header })
      .sign(key.privateKey, { crit: { extension: true } });
  }

  count(path: string): number {
    return this.asked.filter((each) => each === path).length;
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.issuer);
    this.asked.push(url.pathname);
    if (this.twists.respond?.(url.pathname, response) === true) return;
    if (url.pathname.endsWith('/.well-known/openid-configuration')) send(response, this.#discovery());
    else if (url.pathname === '/jwks') {
      const honest = { keys: [this.key.jwk as Json] };
      send(response, this.twists.jwks?.(honest) ?? honest);
    } else if (url.pathname === '/authorize') response.writeHead(302, { location: this.approve(url) }).end();
    else if (url.pathname === '/token') await this.#exchange(request, response);
    else if (url.pathname === '/userinfo') {
      const honest = { sub: this.subject, name: 'Ursula of userinfo' };
      send(response, this.twists.userinfo?.(honest) ?? honest);
    } else response.writeHead(404).end();
  }

  #discovery(): Json {
    const { issuer } = this;
    const honest = {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/userinfo`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [this.key.alg],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
    };
    return this.twists.discovery?.(honest) ?? honest;
  }

  /** Approves an authorization request. @returns the URL to which a browser would be redirected */
  approve({ searchParams }: URL): string {
    const code = randomBytes(16).toString('hex');
    this.#codes.set(code, { parameters: searchParams });
    const honest = new URLSearchParams({
      code,
      state: searchParams.get('state') ?? '',
      iss: this.issuer,
    });
    const parameters = this.twists.callback?.(honest) ?? honest;
    return `${searchParams.get('redirect_uri')}?${parameters}`;
  }

  async #exchange(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = new URLSearchParams(await text(request));
    this.exchanges.push(body);
    const basic = Buffer.from(request.headers.authorization?.split(' ')[1] ?? '', 'base64').toString();
    this.secrets.push(decodeURIComponent(basic.split(':')[1] ?? ''));
    const code = body.get('code') ?? '';
    const granted = this.#codes.get(code);
    // A code is valid for one exchange (RFC 6749, 4.1.2).
    this.#codes.delete(code);
    const verifier = body.get('code_verifier') ?? '';
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const isProven =
      this.twists.ignoresPkce === true || granted?.parameters.get('code_challenge') === challenge;
    if (granted === undefined || !isProven) {
      send(response, { error: 'invalid_grant' }, 400);
      return;
    }
    const now = Math.floor(Date.now() / 1_000);
    const nonce = granted.parameters.get('nonce');
    const honest: JWTPayload = {
      iss: this.issuer,
      sub: this.subject,
      aud: granted.parameters.get('client_id') ?? '',
      iat: now,
      exp: now + 300,
      name: 'Ursula Example',
      email: 'ursula@example.com',
      email_verified: true,
      ...(nonce === null ? {} : { nonce }),
      ...(this.sid === undefined ? {} : { sid: this.sid }),
    };
    const claims = this.twists.claims?.(honest) ?? honest;
    const idToken = await (this.twists.idToken?.(claims) ?? this.sign(claims));
    const tokens = { access_token: 'access', token_type: 'Bearer', expires_in: 300, id_token: idToken };
    send(response, this.twists.token?.(tokens) ?? tokens);
  }
}

function send(response: ServerResponse, body: unknown, status = 200): void {
  response
    .writeHead(status, { 'content-type': 'application/json' })
    .end(typeof body === 'string' ? body : JSON.stringify(body));
}

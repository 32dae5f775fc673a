import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';

/**
 * A GitHub server by its documentation (Authorizing OAuth apps; REST API, users) that approves every request. A failed
 * exchange returns 200 with an `error`, as at GitHub.
 */
export class ScriptedGithub {
  origin = '';
  user: unknown = {
    id: 583231,
    login: 'octocat',
    name: 'The Octocat',
    email: null,
    avatar_url: 'https://avatars.example.com/u/583231',
  };
  userStatus = 200;
  /** What `/user/emails` returns to a token that has the scope `user:email`. */
  emails: unknown = [
    { email: 'old@example.com', primary: false, verified: true, visibility: null },
    { email: 'octocat@example.com', primary: true, verified: true, visibility: 'private' },
  ];
  emailsStatus = 200;
  emailRequests = 0;
  readonly asked: URLSearchParams[] = [];
  readonly exchanges: URLSearchParams[] = [];
  readonly userHeaders: IncomingMessage['headers'][] = [];
  readonly #challenges = new Map<string, string>();
  readonly #server = createServer((request, response) => void this.#respond(request, response));

  static async start(t: TestContext): Promise<ScriptedGithub> {
    const github = new ScriptedGithub();
    await new Promise<void>((resolve) => {
      github.#server.listen(0, '127.0.0.1', resolve);
    });
    github.origin = `http://127.0.0.1:${(github.#server.address() as AddressInfo).port}`;
    t.after(() => github.stop());
    return github;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', this.origin);
    if (pathname === '/login/oauth/authorize') {
      this.asked.push(searchParams);
      const code = randomBytes(10).toString('hex');
      this.#challenges.set(code, searchParams.get('code_challenge') ?? '');
      const parameters = new URLSearchParams({ code, state: searchParams.get('state') ?? '' });
      response.writeHead(302, { location: `${searchParams.get('redirect_uri')}?${parameters}` }).end();
    } else if (pathname === '/login/oauth/access_token') {
      const body = new URLSearchParams(await text(request));
      this.exchanges.push(body);
      const challenge = createHash('sha256')
        .update(body.get('code_verifier') ?? '')
        .digest('base64url');
      const isGood = this.#challenges.get(body.get('code') ?? '') === challenge;
      this.#challenges.delete(body.get('code') ?? '');
      send(
        response,
        isGood
          ? { access_token: 'gho_token', token_type: 'bearer', scope: 'read:user' }
          : { error: 'bad_verification_code', error_description: 'The code passed is incorrect or expired.' },
      );
    } else if (pathname === '/api/v3/user') {
      this.userHeaders.push(request.headers);
      send(response, this.user, this.userStatus);
    } else if (pathname === '/api/v3/user/emails') {
      this.emailRequests++;
      const scopes = this.asked.at(-1)?.get('scope')?.split(' ') ?? [];
      // Without the scope GitHub returns 404.
      if (scopes.includes('user:email')) send(response, this.emails, this.emailsStatus);
      else send(response, { message: 'Not Found' }, 404);
    } else response.writeHead(404).end();
  }
}

function send(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
}

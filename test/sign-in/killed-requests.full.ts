import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { killedAt } from '../support/kill-at.ts';
import { ScriptedOidc } from '../support/oidc/scripted-oidc.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';
import {
  App,
  isSignedIn,
  publicUrl,
  registerPath,
  returnUrl,
  sendJson,
  signInAt,
} from '../support/sign-in/app.ts';
import { Browser } from '../support/sign-in/browser.ts';
import { credentials } from '../support/sign-in/signing-in.ts';
import { tryToPost, tryToSend } from '../support/try-to-send.ts';

/** The drill kills a process at commits of the embedded store, which other stores do not have. */
const skip =
  process.env.TEST_STORE === 'dynamodb' ? 'kills at commits of the embedded store' : (false as const);
const isLong = process.env.LONG === '1';
/** More commits than any request of these drills makes. */
const commitsMax = 40;
/** More sessions than one commit can end. */
const manyBrowsers = 90;
const env = { COUNTERFOIL_PUBLIC_URL: publicUrl };
const integrationPath = '/v3/service/auth/oidc/web';

/** A browser that is signed in at the service and in an app on another origin. */
interface SignedIn {
  readonly browser: Browser;
  readonly refreshToken: string;
}

interface World {
  /** The data folder of the stopped service; each kill uses a copy of it. */
  readonly data: string;
  readonly app: App;
  /** The registered fields of `oidc/web`. */
  readonly fields: object;
  /** All browsers have the same user, and the first one sends the request. */
  readonly browsers: readonly [SignedIn, ...SignedIn[]];
}

interface Request {
  readonly name: string;
  readonly browsers: number;
  /** Sends the request during which the process is killed. */
  readonly act: (origin: string, world: World) => ReturnType<typeof tryToSend>;
  /** Checks the service that starts after the kill, also with a retry. */
  readonly check: (origin: string, world: World, step: string) => Promise<void>;
}

const requests: readonly Request[] = [
  {
    name: 'a delete of an integration either has not happened, and users stay signed in, or has ended all access',
    browsers: 2,
    act: (origin) => tryToSend(origin + integrationPath, { method: 'DELETE' }),
    async check(origin, world, step) {
      const [first, second] = world.browsers;
      const isThere = (await tryToSend(origin + integrationPath))?.status === 200;
      if (isThere) assert.deepEqual(await whatLives(origin, world.app, [first]), whole, step);
      const retry = await this.act(origin, world);
      assert.equal(retry?.status, isThere ? 200 : 404, step);
      // The refresh tokens can be tested only after the name is registered again.
      assert.equal((await sendJson(origin + registerPath, 'POST', world.fields)).status, 200);
      assert.equal(await isSignedIn(origin, first.browser), false, step);
      assert.deepEqual(await whatLives(origin, world.app, [second as SignedIn]), [], step);
    },
  },
  {
    name: 'a revocation is complete after a retry',
    browsers: 2,
    // RFC 7009, 2.1: a form-encoded request to the revocation endpoint.
    act: (origin, { browsers: [{ refreshToken }] }) =>
      tryToSend(`${origin}/v3/auth/oidc/web/revoke`, {
        method: 'POST',
        body: new URLSearchParams({ token: refreshToken, token_type_hint: 'refresh_token' }),
      }),
    async check(origin, world, step) {
      const { app, browsers } = world;
      const [own, ...others] = browsers;
      // RFC 7009, 2.2: 200 also for a token that is already revoked.
      assert.equal((await this.act(origin, world))?.status, 200, step);
      // The revocation ends the app's access, and the user stays signed in to the service.
      assert.deepEqual(await whatLives(origin, app, [own]), ['session 0'], step);
      assert.deepEqual(await whatLives(origin, app, others), whole, step);
    },
  },
  {
    name: 'a sign-out that has ended the session has revoked its refresh tokens, and is complete after a retry',
    browsers: 2,
    act: (origin, { browsers: [own] }) => tryToSignOut(origin, own),
    async check(origin, world, step) {
      const { app, browsers } = world;
      const [own, ...others] = browsers;
      // A browser that is still signed in can retry.
      if (!(await isSignedIn(origin, own.browser)))
        assert.deepEqual(await whatLives(origin, app, [own]), [], step);
      assert.equal((await this.act(origin, world))?.status, 200, step);
      assert.deepEqual(await whatLives(origin, app, [own]), [], step);
      assert.deepEqual(await whatLives(origin, app, others), whole, step);
    },
  },
  ...(isLong ? [1, 3, manyBrowsers] : [manyBrowsers]).map(
    (count): Request => ({
      name: `a sign-out everywhere ends the session that requested it last, and all ${count} after a retry`,
      browsers: count,
      act: (origin, { browsers: [own] }) => tryToSignOut(origin, own, { everywhere: true }),
      async check(origin, world, step) {
        const { app, browsers } = world;
        const isSignedOut = !(await isSignedIn(origin, browsers[0].browser));
        // A browser that is still signed in can retry. One that is not could not end the remaining sessions.
        if (isSignedOut) assert.deepEqual(await whatLives(origin, app, browsers), [], step);
        const retry = await this.act(origin, world);
        // 401 is correct only when no session is left.
        assert.ok(retry?.status === 200 || retry?.status === 401, `${step}: ${retry?.text}`);
        if (!isSignedOut)
          assert.deepEqual(await whatLives(origin, app, browsers), [], `${step}, retry ${retry.status}`);
      },
    }),
  ),
];
/** What lives of one browser whose access did not end. */
const whole = ['session 0', 'refresh token 0'];

describe('killed at any commit', { concurrency: 2, skip }, () => {
  for (const request of requests) test(request.name, (t) => killAtEachCommit(t, request));
});

/**
 * Kills a process before and after each commit of a request, until the request has no further commit. The disk before a
 * commit is the same as after the previous one, so that a run without LONG skips these.
 */
async function killAtEachCommit(t: TestContext, request: Request): Promise<void> {
  const world = await signedInWorld(t, request.browsers);
  for (let commit = 1; commit <= commitsMax; commit++) {
    for (const when of isLong || commit === 1 ? ['before', 'after'] : ['after']) {
      const data = copyOf(t, world.data);
      const hooked = { ...env, ...killedAt(`${when} request ${commit}`) };
      const killed = await ServeProcess.start(t, { data, env: hooked });
      const reply = await request.act(await killed.ready(), world);
      await killed.kill();
      // The request got a response, so it has no such commit.
      const isOver = reply !== undefined;
      if (isOver) assert.equal(reply.status, 200, reply.text);
      assert.ok(!(isOver && commit === 1), 'a request that changes something has a commit');
      const restarted = await ServeProcess.start(t, { data, env });
      const step = isOver ? 'not killed' : `killed ${when} commit ${commit}`;
      await request.check(await restarted.ready(), world, step);
      await restarted.kill();
      if (isOver) return;
    }
  }
  assert.fail(`more than ${commitsMax} commits`);
}

/** Copies the folder and the key file next to it. */
function copyOf(t: TestContext, data: string): string {
  const copy = newData(t);
  cpSync(dirname(data), dirname(copy), { recursive: true });
  return copy;
}

/** A data folder with one user, who is signed in with `count` browsers and in an app with each. */
async function signedInWorld(t: TestContext, count: number): Promise<World> {
  const provider = await ScriptedOidc.start(t);
  const data = newData(t);
  const service = await ServeProcess.start(t, { data, env });
  const origin = await service.ready();
  const fields = { ...credentials, IDP_ISSUER: provider.issuer, return_urls: [returnUrl] };
  assert.equal((await sendJson(origin + registerPath, 'POST', fields)).status, 200);
  const app = new App();
  const signIn = async (): Promise<SignedIn> => {
    const browser = new Browser();
    const { status, text, body } = await app.exchange(origin, await signInAt(origin, browser, app.link));
    assert.equal(status, 200, text);
    return { browser, refreshToken: body.refresh_token };
  };
  const browsers: [SignedIn, ...SignedIn[]] = [await signIn()];
  while (browsers.length < count) {
    const some = Math.min(20, count - browsers.length);
    browsers.push(...(await Promise.all(Array.from({ length: some }, signIn))));
  }
  assert.equal(await service.terminate(), 0);
  return { data, app, fields, browsers };
}

/** A sign-out whose response may be lost. The browser always keeps its cookie, as after a lost response. */
function tryToSignOut(origin: string, { browser }: SignedIn, body: object = {}) {
  const cookie = browser.cookieHeader(`${origin}/`);
  return tryToPost(`${origin}/v3/auth/sign-out`, body, { cookie });
}

/** The sessions and refresh tokens that are still valid. The check uses the refresh tokens. */
async function whatLives(origin: string, app: App, browsers: readonly SignedIn[]): Promise<string[]> {
  const living: string[] = [];
  for (const [index, { browser, refreshToken }] of browsers.entries()) {
    if (await isSignedIn(origin, browser)) living.push(`session ${index}`);
    const { status, text } = await app.refresh(origin, refreshToken);
    assert.ok([200, 400, 404].includes(status), text);
    if (status === 200) living.push(`refresh token ${index}`);
  }
  return living;
}

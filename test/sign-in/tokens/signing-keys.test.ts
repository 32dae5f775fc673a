import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  decodeProtectedHeader,
  type JSONWebKeySet,
  jwtVerify,
} from 'jose';
import {
  accessTokenMs,
  signingKeyAnnouncedMs,
  signingKeyMs,
  signingKeyPublishedMs,
} from '../../../src/sign-in/limits.ts';
import {
  openShared,
  type Shared,
  signIn,
  startProcess,
  type TokenProcess,
} from '../../support/sign-in/token-service.ts';

async function accessToken(process: TokenProcess): Promise<string> {
  return (await process.token((await signIn(process)).exchange)).body.access_token;
}

function kidOf(token: string): string | undefined {
  return decodeProtectedHeader(token).kid;
}

async function published({ origin }: TokenProcess): Promise<JSONWebKeySet> {
  return (await (await fetch(`${origin}/.well-known/jwks.json`)).json()) as JSONWebKeySet;
}

/** The key set as an app uses it: it fetches the keys again when one is unknown. */
function remoteKeys({ origin }: TokenProcess) {
  return createRemoteJWKSet(new URL(`${origin}/.well-known/jwks.json`), { cooldownDuration: 0 });
}

function at(shared: Shared) {
  return { currentDate: new Date(shared.now) };
}

test('processes that start at once sign with one key, and each verifies the tokens of the others', async (t) => {
  const shared = await openShared(t);
  const processes = await Promise.all([1, 2, 3].map(() => startProcess(t, shared)));
  const tokens = await Promise.all(processes.map(accessToken));
  assert.equal(new Set(tokens.map(kidOf)).size, 1);
  for (const process of processes) {
    assert.equal((await published(process)).keys.length, 1);
    for (const token of tokens) await jwtVerify(token, remoteKeys(process), at(shared));
  }
});

test('a new key is published a day before it signs, and an old one until its last token has expired', async (t) => {
  const shared = await openShared(t);
  const [process, other] = [await startProcess(t, shared), await startProcess(t, shared)];
  const began = shared.now;
  const first = kidOf(await accessToken(process));
  shared.now = began + signingKeyMs - signingKeyAnnouncedMs;
  const announced = await published(process);
  assert.equal(announced.keys.length, 2);
  assert.equal(kidOf(await accessToken(process)), first, 'the new key does not sign yet');

  shared.now = began + signingKeyMs - 1;
  const last = await accessToken(process);
  assert.equal(kidOf(last), first);
  shared.now = began + signingKeyMs;
  const fresh = await accessToken(other);
  assert.notEqual(kidOf(fresh), first);
  await jwtVerify(fresh, createLocalJWKSet(announced), at(shared));
  shared.now += accessTokenMs - 2_000;
  await jwtVerify(last, remoteKeys(other), at(shared));
  await process.grants.sweep();
  await jwtVerify(last, remoteKeys(process), at(shared));

  shared.now = began + signingKeyMs + signingKeyPublishedMs;
  assert.deepEqual(
    (await published(process)).keys.map(({ kid }) => kid),
    [kidOf(fresh)],
  );
  await process.grants.sweep();
  assert.equal(kidOf(await accessToken(process)), kidOf(fresh));
});

test('after a long downtime the old key signs until the new one has been published for a day', async (t) => {
  const shared = await openShared(t);
  const first = kidOf(await accessToken(await startProcess(t, shared)));
  shared.now += 3 * signingKeyMs;
  const process = await startProcess(t, shared);
  const announced = await published(process);
  assert.equal(announced.keys.length, 2);
  assert.equal(kidOf(await accessToken(process)), first);
  shared.now += signingKeyAnnouncedMs;
  const token = await accessToken(process);
  assert.notEqual(kidOf(token), first);
  await jwtVerify(token, createLocalJWKSet(announced), at(shared));
});

test('a token that was changed, or signed by another service, is invalid', async (t) => {
  const shared = await openShared(t);
  const process = await startProcess(t, shared);
  const stranger = await startProcess(t, await openShared(t));
  const token = await accessToken(process);
  const [header, payload, signature] = token.split('.') as [string, string, string];
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
  const forged = Buffer.from(JSON.stringify({ ...claims, sub: 'somebody-else' })).toString('base64url');
  const keys = remoteKeys(process);
  await assert.rejects(jwtVerify(`${header}.${forged}.${signature}`, keys, at(shared)));
  await assert.rejects(jwtVerify(await accessToken(stranger), keys, at(shared)));
  const later = { currentDate: new Date(shared.now + accessTokenMs) };
  await assert.rejects(jwtVerify(token, keys, later), /exp/);
});

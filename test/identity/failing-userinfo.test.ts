import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import type { JWTPayload } from 'jose';
import { assertRejected, says, signIn, startSignIn, whoIs } from '../support/sign-in/signing-in.ts';

const json = { 'content-type': 'application/json' };
const withoutName = ({ name, ...rest }: JWTPayload): JWTPayload => rest;

/** How userinfo may fail. */
const failures: Readonly<Record<string, (response: ServerResponse) => void>> = {
  'is down': (response) => void response.destroy(),
  'returns 500': (response) => void response.writeHead(500).end('oh no'),
  'returns 401': (response) => void response.writeHead(401, { 'www-authenticate': 'Bearer' }).end(),
  'returns 403 with JSON': (response) =>
    void response.writeHead(403, json).end('{"error":"insufficient_scope"}'),
  redirects: (response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
  'returns HTML': (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
  'returns what is no JSON': (response) => void response.writeHead(200, json).end('{'),
  'returns a list': (response) => void response.writeHead(200, json).end('[]'),
  'returns no subject': (response) => void response.writeHead(200, json).end('{"name":"Eve"}'),
  'returns an empty subject': (response) => void response.writeHead(200, json).end('{"sub":"","name":"Eve"}'),
  'returns a subject that is no text': (response) =>
    void response.writeHead(200, json).end('{"sub":1,"name":"Eve"}'),
  'returns 10 MB': (response) => void response.writeHead(200, json).end(Buffer.alloc(10_000_000, 0x20)),
  'closes the connection within the body': (response) => {
    response.writeHead(200, { ...json, 'content-length': 1_000 });
    response.write('{');
    setImmediate(() => response.destroy());
  },
};

for (const [name, failure] of Object.entries(failures)) {
  test(`signs in with the claims of the ID token while userinfo ${name}`, async (t) => {
    const signing = await startSignIn(t);
    signing.provider.twists = {
      claims: withoutName,
      respond: (path, response) => {
        if (path !== '/userinfo') return false;
        failure(response);
        return true;
      },
    };
    const landed = await signIn(signing);
    assert.equal(landed.status, 303, landed.text);
    assert.equal(signing.provider.count('/userinfo'), 1);
    const { body } = await whoIs(signing, signing.browser);
    assert.deepEqual([body.subject, body.name, body.email], ['user-1', undefined, 'ursula@example.com']);
  });
}

/** OpenID Connect Core 1.0, 5.3.2: somebody has exchanged the tokens. */
test('rejects a sign-in whose userinfo is of another subject', async (t) => {
  const signing = await startSignIn(t);
  for (const sub of ['user-2', 'user-1 ', 'USER-1']) {
    signing.provider.twists = { claims: withoutName, userinfo: (honest) => ({ ...honest, sub }) };
    await assertRejected(signing, await signIn(signing), says.untrusted);
  }
});

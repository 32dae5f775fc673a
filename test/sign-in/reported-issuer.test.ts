import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ScriptedOidc } from '../support/oidc/scripted-oidc.ts';
import { startTestService } from '../support/service.ts';
import { credentials } from '../support/sign-in/signing-in.ts';

const messageCharactersMax = 1_000;

test('the error for an issuer with an extra or missing trailing slash names the reported issuer', async (t) => {
  const { provider, verify } = await start(t);
  const realm = `${provider.issuer}/realms/one`;
  for (const [given, reported] of [
    [`${realm}/`, realm],
    [realm, `${realm}/`],
  ] as const) {
    provider.twists = { discovery: (honest) => ({ ...honest, issuer: reported }) };
    const { status, json } = await verify(given);
    assert.equal(status, 400);
    const { message, param } = json.body.error;
    assert.equal(param, 'IDP_ISSUER');
    assert.ok(message.split(/[\s"'<>]+/).includes(reported), `${reported} is not in: ${message}`);
    assert.equal((await verify(reported)).status, 200, 'the issuer of the message can be registered');
  }
});

test('the message repeats no text of a provider except a URL of bounded length', async (t) => {
  const { provider, verify } = await start(t);
  for (const reported of [
    `https://id.example.com/${'x'.repeat(100_000)}`,
    '<script>alert(1)</script>',
    'javascript:alert(1)',
    { a: 1 },
    ['https://id.example.com'],
  ]) {
    provider.twists = { discovery: (honest) => ({ ...honest, issuer: reported }) };
    const { status, json } = await verify(provider.issuer);
    assert.equal(status, 400);
    const { message } = json.body.error;
    assert.ok(message.length < messageCharactersMax, `${message.length} characters`);
    assert.doesNotMatch(message, /alert\(|\[object|xxxx/);
  }
});

async function start(t: TestContext) {
  const service = await startTestService(t);
  const provider = await ScriptedOidc.start(t);
  let count = 0;
  const verify = (issuer: string) =>
    service.post(`/v3/create/service/auth/oidc/web-${++count}?verify=true`, {
      ...credentials,
      IDP_ISSUER: issuer,
    });
  return { provider, verify };
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ScriptedOidc } from '../support/oidc/scripted-oidc.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';
import { publicUrl, sendJson } from '../support/sign-in/app.ts';
import { credentials } from '../support/sign-in/signing-in.ts';

/** Close to the largest response that the service accepts from a provider. */
const documentBytes = 900_000;
const documents = process.env.LONG === '1' ? 600 : 150;
/** Enough for the service and a few documents, and far less than all of them need. */
const heapMegabytes = 128;

test('bounds the bytes of cached discovery documents', async (t) => {
  const provider = await ScriptedOidc.start(t);
  provider.twists = {
    discovery: (honest) => ({
      ...honest,
      padding: Array.from({ length: documentBytes / 10 }, () => 'x'.repeat(7)),
    }),
  };
  const env = {
    COUNTERFOIL_PUBLIC_URL: publicUrl,
    NODE_OPTIONS: `--max-old-space-size=${heapMegabytes}`,
  };
  const service = await ServeProcess.start(t, { data: newData(t), env });
  const origin = await service.ready();
  for (let count = 0; count < documents; count++) {
    // Each client of a provider has its own cache entry.
    const name = `web-${count}`;
    const body = { ...credentials, IDP_CLIENT_ID: name, IDP_ISSUER: provider.issuer };
    const registered = await sendJson(`${origin}/v3/create/service/auth/oidc/${name}`, 'POST', body);
    assert.equal(registered.status, 200, registered.text);
    const begun = await fetch(`${origin}/v3/auth/oidc/${name}/sign-in`, { redirect: 'manual' }).catch(
      () => undefined,
    );
    assert.equal(begun?.status, 303, `after ${count} documents: ${service.errors.slice(0, 300)}`);
  }
  const first = await fetch(`${origin}/v3/auth/oidc/web-0/sign-in`, { redirect: 'manual' });
  assert.equal(first.status, 303);
});

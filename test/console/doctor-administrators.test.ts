import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Administrators } from '../../src/access/console/administrators.ts';
import { administratorsCheck } from '../../src/app/doctor/store-checks.ts';
import { fixedKeys, masterKey } from '../../src/secrets/key-file.ts';
import { Sealer } from '../../src/secrets/sealer.ts';
import { Integrations } from '../../src/sign-in/integrations.ts';
import { ConsoleApprovals } from '../../src/sign-in/sign-in.ts';
import { userKey } from '../../src/sign-in/types.ts';
import { newDataFolder, openStoreOf } from '../support/service.ts';

const ada = { issuer: 'https://idp.example.com', subject: 'ada' };
const by = { by: 'cli' } as const;

test('doctor finds the administrators who cannot sign in to the console', async (t) => {
  const engine = await openStoreOf(newDataFolder(t));
  t.after(() => engine.close());
  const found = async () =>
    (await administratorsCheck(engine, Date.now)).map(({ status, message }) => [status, message]);
  const integrations = new Integrations(
    engine,
    new Sealer(fixedKeys([masterKey(Buffer.alloc(32, 7))])),
    Date.now,
  );
  const approvals = new ConsoleApprovals(engine, Date.now);
  const administrators = new Administrators(engine, Date.now);
  const client = { clientId: 'web', issuer: ada.issuer };
  const register = async () => {
    const fields = { IDP_CLIENT_ID: client.clientId, IDP_CLIENT_SECRET: 's', IDP_ISSUER: ada.issuer };
    await integrations.register('oidc', 'web', fields, by);
    await approvals.approve('oidc', 'web', client, by);
  };
  const add = async () => {
    const registration = await approvals.registrationFor('oidc/web');
    await administrators.add({ id: userKey(ada), ...ada, registration, scopes: ['admin'] }, by);
  };
  const shutOut = `ada of ${ada.issuer} cannot sign in: oidc/web is not approved, or was registered again`;
  const warned = [['warning', shutOut]];

  await register();
  assert.deepEqual(await found(), [], 'without administrators there is nothing to report');
  await add();
  assert.deepEqual(await found(), [['ok', 'all 1 can sign in']]);
  await approvals.withdraw('oidc', 'web', by);
  assert.deepEqual(await found(), warned, 'the approval is withdrawn');
  await approvals.approve('oidc', 'web', client, by);
  assert.deepEqual(await found(), [['ok', 'all 1 can sign in']]);
  await integrations.remove('oidc', 'web', by);
  await register();
  assert.deepEqual(await found(), warned, 'another registration has the name');
  await add();
  assert.deepEqual(await found(), [['ok', 'all 1 can sign in']]);

  const unbound = { id: 'bob', ...ada, subject: 'bob', scopes: ['admin'], grant: 'g', addedAt: '2026-01-01' };
  const space = 'service:administrators';
  await engine.commit([
    { kind: 'create', space, id: 'bob', value: JSON.stringify(unbound), makeSpace: true },
  ]);
  assert.deepEqual(await found(), [
    ['warning', `bob of ${ada.issuer} is bound to no integration, and cannot sign in`],
  ]);
});

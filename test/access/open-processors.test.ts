import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { openAccess } from '../../src/app/access.ts';
import { openProcessors, openSimulation } from '../../src/app/adapters.ts';
import { SettingsError } from '../../src/errors.ts';
import { openLog } from '../../src/log.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { newDataFolder, openStoreOf } from '../support/service.ts';

type Processors = Parameters<typeof openAccess>[2];

/** Whether a service with these processors, on loopback and without any key, is open. */
async function isOpen(t: TestContext, processors: Processors): Promise<boolean> {
  const data = newDataFolder(t);
  const settings = loadSettings({
    env: { COUNTERFOIL_DATA: data },
    file: '/nonexistent/counterfoil.json',
    simulate: false,
  });
  const engine = await openStoreOf(data);
  try {
    return (await openAccess(settings, engine, processors, openLog('fatal'), Date.now)).isOpen();
  } catch (error) {
    assert.ok(error instanceof SettingsError, String(error));
    assert.match(error.message, /needs an API key/);
    return false;
  } finally {
    await engine.close();
  }
}

test('a processor without settings of its own is served without keys only if it says that it moves no money', async (t) => {
  const third = { name: 'third' };
  assert.equal(await isOpen(t, [undefined, { ...third, movesMoney: true }]), false);
  assert.equal(await isOpen(t, [third] as unknown as Processors), false, 'an adapter that does not say');
  assert.equal(await isOpen(t, [undefined, { ...third, movesMoney: false }]), true);
  assert.equal(await isOpen(t, []), true);
});

test('of the processors of the project, only the simulated one moves no money', async (t) => {
  const settings = loadSettings({
    env: {
      COUNTERFOIL_DATA: newDataFolder(t),
      COUNTERFOIL_STRIPE_KEY: 'sk_test_1',
      COUNTERFOIL_SQUARE_ACCESS_TOKEN: 'square',
    },
    file: '/nonexistent/counterfoil.json',
    simulate: true,
  });
  const processors = await openProcessors(settings, openSimulation(settings, 'http://127.0.0.1'));
  const harmless = [...processors].filter(([, processor]) => processor?.movesMoney === false);
  assert.deepEqual(
    harmless.map(([name]) => name),
    ['simulated'],
  );
  assert.equal(processors.size, 3);
});

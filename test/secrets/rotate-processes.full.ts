import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { keyFilePath } from '../../src/secrets/key-file.ts';
import { openMasterKeys } from '../../src/secrets/master-keys.ts';
import { rotate } from '../../src/secrets/rotation.ts';
import type { Sealing } from '../support/secrets/sealing-process.ts';
import { newDataFolder, openStoreOf } from '../support/service.ts';

const script = join(import.meta.dirname, '../support/secrets/sealing-process.ts');

async function startSealing(t: TestContext, file: string): Promise<ChildProcess> {
  const child = fork(script, [file]);
  t.after(() => child.kill('SIGKILL'));
  await once(child, 'message');
  return child;
}

async function stopSealing(child: ChildProcess): Promise<Sealing> {
  const answered = once(child, 'message');
  child.send('stop');
  const [sealing] = await answered;
  return sealing as Sealing;
}

test('when a rotation begins to rewrap, no process begins a seal under the old key any more', async (t) => {
  const data = newDataFolder(t);
  const engine = await openStoreOf(data);
  t.after(() => engine.close());
  const source = { settings: [], command: undefined, dataFolder: data };
  const keys = await openMasterKeys(engine, source, Date.now());
  const old = keys.writing().id;
  const children = await Promise.all([1, 2, 3].map(() => startSealing(t, keyFilePath(data))));
  let turnedNs: bigint | undefined;
  const { keyId } = await rotate({
    engine,
    source,
    keys,
    records: [],
    now: Date.now,
    report: (step) => {
      if (step.endsWith('seals from now on')) turnedNs = process.hrtime.bigint();
    },
  });
  const sealings = await Promise.all(children.map(stopSealing));
  assert.ok(turnedNs !== undefined);
  for (const { lastNs } of sealings) {
    assert.deepEqual(new Set(Object.keys(lastNs)), new Set([old, keyId]), 'it sealed before and after');
    assert.ok(
      BigInt(lastNs[old] as string) < turnedNs,
      'the old key seals after the rotation says otherwise',
    );
  }
});

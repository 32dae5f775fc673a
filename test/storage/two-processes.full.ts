import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Engine, Space, Write } from '../../src/storage/engine.ts';
import { itemsOf } from '../../src/storage/item-text.ts';
import { openLmdbEngine } from '../../src/storage/lmdb/open.ts';
import { openStore } from '../../src/storage/lmdb/store.ts';
import { count } from '../support/extent.ts';
import { between, randomFrom, seedOf } from '../support/random.ts';
import { newDataFolder } from '../support/service.ts';
import { EngineProcess } from '../support/storage/engine-process.ts';
import { walkLeaves } from '../support/storage/leaf-walk.ts';

const space: Space = 'table:shared';
const rounds = count({ short: 1_200, long: 30_000 });
/** Both processes compact after 100 ms without writes, and find what the other one has compacted. */
const idleMs = 300;
const roundsPerIdle = 250;

type Verbs = Pick<Engine, 'get' | 'describe' | 'commit'> & {
  text(space: Space): Promise<string | undefined>;
};

test('reads an acknowledged write of the other process at once, in both directions', async (t) => {
  const random = randomFrom(seedOf(t));
  const { here, there } = await openTwice(t);
  assert.equal(await here.commit([create('value', '0')]), undefined);
  let version = '';
  for (let round = 1; round <= rounds; round++) {
    const [writer, reader] = random() < 0.5 ? [here, there] : [there, here];
    const write: Write = { kind: 'replace', space, id: 'value', value: String(round) };
    assert.equal(await writer.commit([{ ...write, ifValue: String(round - 1) }]), undefined);
    assert.equal(await reader.get(space, 'value'), String(round));
    const facts = await reader.describe(space);
    assert.notEqual(facts?.version, version);
    version = facts?.version ?? '';
    assert.deepEqual(await writer.describe(space), facts);
    assert.equal(await reader.text(space), await writer.text(space));
    const late = await reader.commit([{ ...write, ifValue: String(round - 1) }]);
    assert.deepEqual(late, { write: 0, reason: 'differs' });
    const created = create(`id-${round}`, 'first');
    if (round % 10 === 0) {
      assert.equal(await writer.commit([created]), undefined);
      assert.deepEqual(await reader.commit([created]), { write: 0, reason: 'exists' });
    }
    if (round % roundsPerIdle === 0) await sleep(between(random, idleMs, 2 * idleMs));
  }
});

test('a read sees a write that another process acknowledged earlier in the same turn of the event loop', async (t) => {
  const folder = newDataFolder(t);
  const program = `${folder}.replace.mjs`;
  const engine = openLmdbEngine(folder);
  t.after(() => engine.close());
  await engine.commit([create('value', '0')]);
  for (const value of ['1', '2', '3']) {
    // As with two connections in one poll: while the first request is handled, another process acknowledges a write, and a
    // client that knows of it sends the second request.
    const early = engine.get(space, 'value');
    writeFileSync(program, replacing(folder, value));
    execFileSync(process.execPath, [program]);
    const late = engine.get(space, 'value');
    assert.equal(await late, value);
    await early;
  }
});

/** A program that replaces the value and ends. */
function replacing(folder: string, value: string): string {
  const engine = new URL('../../src/storage/lmdb/open.ts', import.meta.url).href;
  return `
    const { openLmdbEngine } = await import(${JSON.stringify(engine)});
    const engine = openLmdbEngine(${JSON.stringify(folder)});
    const write = ${JSON.stringify({ kind: 'replace', space, id: 'value', value })};
    if ((await engine.commit([write])) !== undefined) throw new Error('rejected');
    await engine.close();`;
}

test('loses no increment when two processes increment the same items', async (t) => {
  const { here, there, folder, close } = await openTwice(t);
  const ids = Array.from({ length: 5 }, (_, n) => `counter-${n}`);
  await here.commit(ids.map((id) => create(id, '0')));
  const perCounter = count({ short: 60, long: 2_000 });
  const countUp = async (by: Verbs, id: string) => {
    let done = 0;
    while (done < perCounter) {
      const ifValue = (await by.get(space, id)) as string;
      const rejection = await by.commit([
        { kind: 'replace', space, id, value: `${Number(ifValue) + 1}`, ifValue },
      ]);
      if (rejection === undefined) done++;
      // Long enough for the other process to compact in the meantime.
      if (rejection === undefined && done % 20 === 0) await sleep(idleMs);
    }
  };
  await Promise.all(ids.flatMap((id) => [countUp(here, id), countUp(there, id)]));
  for (const by of [here, there]) {
    for (const id of ids) assert.equal(await by.get(space, id), String(2 * perCounter));
  }
  await close();
  const store = openStore(join(folder, 'store.mdb'));
  walkLeaves(store);
  await store.close();
});

async function openTwice(t: Parameters<typeof newDataFolder>[0]) {
  const folder = newDataFolder(t);
  const engine = openLmdbEngine(folder);
  const there = await EngineProcess.open(t, folder);
  let isClosed = false;
  const close = async () => {
    if (isClosed) return;
    isClosed = true;
    await there.kill();
    await engine.close();
  };
  t.after(close);
  const here: Verbs = {
    get: (...values) => engine.get(...values),
    describe: (...values) => engine.describe(...values),
    commit: (...values) => engine.commit(...values),
    text: async (of) => {
      const scan = await engine.scan(of);
      return (
        scan && (await Array.fromAsync(itemsOf(scan.chunks))).map((item) => JSON.stringify(item)).join(',')
      );
    },
  };
  return { here, there: there as Verbs, folder, close };
}

function create(id: string, value: string): Write {
  return { kind: 'create', space, id, value, makeSpace: true };
}

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Space, Write } from '../../src/storage/engine.ts';
import { verifyStore } from '../../src/storage/lmdb/file/verify.ts';
import { storeFile } from '../../src/storage/lmdb/open.ts';
import { need } from '../support/conformance/needs.ts';
import { count } from '../support/extent.ts';
import { between, type Random, randomFrom, seedOf } from '../support/random.ts';
import { newDataFolder } from '../support/service.ts';
import { EngineProcess } from '../support/storage/engine-process.ts';

/**
 * Processes that write to one store are killed within their commits: before the pages, before the meta page, and before the number in
 * the lock file. The others read every acknowledged write at once, and what they read of the others does not change (promise 13e).
 */
need('cc');

const rounds = count({ short: 9, long: 2_000 });
const steps = ['pages', 'meta', 'number'] as const;
const commitsPerLifeMax = 40;
const callers = 4;
const idsPerCaller = 60;
/** After so many kills, a new store. */
const killsPerStore = 100;
const source = join(import.meta.dirname, '../support/conformance/kill-in-commit.c');

interface Drill {
  readonly t: TestContext;
  readonly random: Random;
  readonly folder: string;
  readonly library: string;
  /** The value that each item has, as acknowledged or as read after its write was lost; undefined when there is none. */
  readonly known: Map<string, string | undefined>;
  readonly totals: { kills: number; acknowledged: number; lost: number; made: number; reads: number };
}

test('reads what was acknowledged in every process, whatever died in its commit', {
  timeout: 7_200_000,
}, async (t) => {
  const random = randomFrom(seedOf(t));
  const totals = { kills: 0, acknowledged: 0, lost: 0, made: 0, reads: 0 };
  while (totals.kills < rounds) {
    const folder = newDataFolder(t);
    const witness = await EngineProcess.open(t, folder);
    const library = compiled(folder);
    const drill: Drill = { t, random, folder, library, known: new Map(), totals };
    const until = Math.min(rounds, totals.kills + killsPerStore);
    while (totals.kills < until) await killOne(drill, witness, steps[totals.kills % steps.length] as string);
    await witness.kill();
    assert.deepEqual((await verifyStore(storeFile(folder))).problems, []);
  }
  t.diagnostic(
    `${totals.kills} kills, ${totals.acknowledged} commits acknowledged, ${totals.lost} lost, of which ${totals.made} were made; ${totals.reads} reads`,
  );
  assert.ok(
    totals.made > 0 && totals.made < totals.lost,
    'some kills come before the transaction, and some after it',
  );
});

function compiled(folder: string): string {
  const library = join(dirname(folder), 'kill-in-commit.so');
  execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl']);
  return library;
}

/** One life of a process, which another one watches, and reads after its death. */
async function killOne(drill: Drill, witness: EngineProcess, step: string): Promise<void> {
  const { t, random, folder, library, known, totals } = drill;
  const dying = await EngineProcess.open(t, folder, {
    LD_PRELOAD: library,
    KILL_IN_COMMIT: `${step} ${between(random, 1, commitsPerLifeMax)}`,
  });
  let isDead = false;
  const ended = dying.ended().then(() => {
    isDead = true;
  });
  const lost = await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      while (!isDead) {
        // No two callers write the same item.
        const id = `${caller}-${between(random, 1, idsPerCaller)}`;
        const isDeletion = known.get(idOf(id)) !== undefined && random() < 0.2;
        const value = isDeletion ? undefined : `${id} at ${totals.acknowledged} in round ${totals.kills}`;
        const write: Write = isDeletion
          ? { kind: 'delete', space: spaceOf(id), id }
          : { kind: 'put', space: spaceOf(id), id, value: value as string, makeSpace: true };
        // The witness commits, too: the number in the lock file has two authors.
        const by = random() < 0.8 ? dying : witness;
        try {
          await by.commit([write]);
        } catch {
          return { id, value };
        }
        totals.acknowledged++;
        known.set(idOf(id), value);
        totals.reads++;
        assert.equal(await witness.get(spaceOf(id), id), value, 'an acknowledged write is read');
      }
      return undefined;
    }),
  );
  await ended;
  totals.kills++;
  for (const { id, value } of lost.filter((each) => each !== undefined)) {
    const found = await witness.get(spaceOf(id), id);
    assert.ok(found === value || found === known.get(idOf(id)), `${id} is another than was written`);
    totals.lost++;
    if (found === value) totals.made++;
    known.set(idOf(id), found);
  }
  await assertReads(drill, witness);
  const next = await EngineProcess.open(t, folder);
  for (const by of [next, witness]) await assertReads(drill, by);
  if (random() < 0.5)
    await next.commit([{ kind: 'put', space: 'table:0', id: 'last', value: '', makeSpace: true }]);
  for (const by of [witness, next]) await assertReads(drill, by);
  await next.kill();
}

/** Whole tables and pages hold every item that is known, as it is known. */
async function assertReads({ known, totals }: Drill, by: EngineProcess): Promise<void> {
  for (const space of ['table:0', 'table:1'] as const) {
    const expected = [...known].filter(([key, value]) => value !== undefined && key.startsWith(`${space} `));
    const whole = itemsIn(await by.text(space));
    const page = itemsIn(await by.text(space, { after: '', limit: 10_000 }));
    totals.reads += 2;
    for (const items of [whole, page]) {
      items.delete('last');
      assert.deepEqual(
        [...items].sort(),
        expected.map(([key, value]) => [key.slice(space.length + 1), value]).sort(),
      );
    }
  }
}

function itemsIn(text = ''): Map<string, string> {
  const items = JSON.parse(`[${text}]`) as { readonly id: string; readonly name: string }[];
  return new Map(items.map(({ id, name }) => [id, name]));
}

function spaceOf(id: string): Space {
  return `table:${Number(id.slice(0, 1)) % 2}`;
}

function idOf(id: string): string {
  return `${spaceOf(id)} ${id}`;
}

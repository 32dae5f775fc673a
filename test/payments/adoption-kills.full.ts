import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { PaymentsLock } from '../../src/payments/payments.ts';
import { FileLedger } from '../../src/processors/simulated/file-ledger.ts';
import {
  adoptAll,
  copyWorld,
  ledgerOf,
  makeWorld,
  repeatAll,
  type World,
} from '../support/payments/adoption-world.ts';
import { openContext, seatsOf } from '../support/payments/restored-store.ts';
import { randomFrom, seedOf } from '../support/random.ts';
import { newDataFolder } from '../support/service.ts';

const onLmdb = { skip: process.env.TEST_STORE === 'dynamodb' ? 'the embedded store only' : false };
const program = join(import.meta.dirname, '../support/payments/killed-adoption.ts');
/** Kills of one store at random steps, one after the other. */
const killsPerStore = process.env.LONG === '1' ? 8 : 3;
const randomStores = process.env.LONG === '1' ? 90 : 2;
/** A short run takes every sixth step. */
const stride = process.env.LONG === '1' ? 1 : 6;
const storesAtOnce = 3;

test('an adoption that is killed at any step ends as one that is not', onLmdb, async (t) => {
  const world = await makeWorld(newDataFolder(t));
  const whole = await run(world, [['0']], 'whole');
  const steps = Number(whole[0]);
  assert.ok(steps > 20, `${steps} steps`);
  const rounds: string[][][] = [];
  for (let step = 1; step <= steps; step += stride) rounds.push([[`${step}`]]);
  const random = randomFrom(seedOf(t));
  for (let store = 0; store < randomStores; store++) {
    const kills = Array.from({ length: killsPerStore }, () => {
      return random() < 0.5
        ? [`${1 + Math.floor(random() ** 2 * steps)}`]
        : ['0', `${Math.floor(random() * 60)}`];
    });
    rounds.push(kills);
  }
  let killed = 0;
  const work = rounds.entries();
  const runner = async () => {
    for (const [n, kills] of work) {
      const outputs = await run(world, kills, `${n}`);
      killed += outputs.filter((output) => output === undefined).length;
    }
  };
  await Promise.all(Array.from({ length: storesAtOnce }, runner));
  t.diagnostic(`${killed} kills of ${rounds.flat().length}, ${steps} steps`);
});

/** @returns what each run printed; undefined if it was killed */
async function run(world: World, kills: readonly string[][], name: string) {
  const folder = `${world.folder}-${name}`;
  copyWorld(world, folder);
  const outputs: (string | undefined)[] = [];
  for (const kill of kills) outputs.push(await adoptKilled(folder, kill));
  await check(world, folder, `${name}: ${kills.join(' | ')}`);
  rmSync(folder, { recursive: true });
  return outputs;
}

async function adoptKilled(folder: string, kill: readonly string[]): Promise<string | undefined> {
  const child = spawn(process.execPath, [program, folder, ...kill], { stdio: ['ignore', 'pipe', 'pipe'] });
  const outputs = Promise.all([text(child.stdout), text(child.stderr)]);
  const [status, signal] = await once(child, 'exit');
  const [output, errors] = await outputs;
  assert.ok(signal === 'SIGKILL' || status === 0, errors);
  return signal === 'SIGKILL' ? undefined : output;
}

async function check({ ids, folder: original }: World, folder: string, what: string): Promise<void> {
  const { engine, context } = openContext(folder, ledgerOf(folder));
  try {
    const adoption = await adoptAll(context);
    assert.equal(adoption.rejection, undefined, what);
    assert.equal(await new PaymentsLock(engine).shutBy(), undefined);
    const sold = { 'A-2': ids.second, 'A-3': ids.third, 'A-7': 'sold by hand' };
    assert.deepEqual(await seatsOf(engine), sold, what);
    assert.deepEqual(
      adoption.withoutItem.map(({ payment }) => payment.id),
      [ids.gone, ids.taken],
      what,
    );
    assert.deepEqual(
      adoption.attempts.map(({ id, state }) => [id, state]),
      [[ids.challenged, 'declined']],
      what,
    );
    const ledger = FileLedger.open(`${folder}.jsonl`);
    assert.deepEqual(await ledger.openChallenges(), [], what);
    for (const [name, [status, id]] of Object.entries(await repeatAll(context)))
      assert.deepEqual([status, id], [200, ids[name]], `${what}: ${name}`);
    const { charges } = await ledger.records();
    const before = await FileLedger.open(`${original}.jsonl`).records();
    assert.deepEqual(charges, before.charges, `${what}: nothing was charged`);
  } finally {
    await engine.close();
  }
}

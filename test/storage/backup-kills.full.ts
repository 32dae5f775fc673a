import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { FolderTarget } from '../../src/backup/folder-target.ts';
import { BackupFailed } from '../../src/backup/target.ts';
import { backupsIn } from '../../src/storage/lmdb/backup/catalogue.ts';
import { archiveSteps } from '../../src/storage/lmdb/backup/journal-archiver.ts';
import { backupSteps, makeBackup } from '../../src/storage/lmdb/backup/make.ts';
import { openLmdbEngine, storeFile } from '../../src/storage/lmdb/open.ts';
import { restoredItems } from '../support/backup/continuous-store.ts';
import { between, pick, randomFrom, seedOf } from '../support/random.ts';
import { newDataFolder } from '../support/service.ts';

/** Kills of what works on a target, after a named step or at any moment. */

const kills = process.env.LONG === '1' ? 500 : 6;
const script = join(import.meta.dirname, '../support/backup/killed-load.ts');
const steps = [...new Set([...backupSteps, ...archiveSteps])];

test('whenever what works on a target is killed, a restore has everything that was sent, and no other store gets in', async (t) => {
  const random = randomFrom(seedOf(t));
  let [data, target] = newStore(t);
  const foreign = newDataFolder(t);
  await openLmdbEngine(foreign).close();
  let [created, sent] = [-1, -1];
  for (let kill = 0; kill < kills; kill++) {
    if (kill % 25 === 0) {
      [data, target] = newStore(t);
      [created, sent] = [-1, -1];
    }
    // At a step, the first time that it passes or later; or at any moment.
    const isAtStep = random() < 0.6;
    const step = isAtStep ? pick(random, steps) : '';
    const args = [data, target.name, `${created + 1}`, step, `${between(random, 0, 1)}`];
    const found = await killedRun(args, isAtStep ? 4_000 : between(random, 300, 1_500));
    created = Math.max(created, found.created);
    sent = Math.max(sent, found.sent);
    const reached = await lastRestored(t, target, sent);
    assert.ok(reached >= sent, `kill ${kill} (${step}): ${reached} restored of ${sent} sent`);
    // The item that was being created may be there without having been acknowledged.
    assert.ok(reached <= created + 1, `kill ${kill} (${step}): ${reached} restored of ${created} created`);
    created = Math.max(created, reached, await lastIn(data));
    if ((await backupsIn(target).catch(() => [])).length > 0)
      await assert.rejects(makeBackup(storeFile(foreign), target), BackupFailed);
  }
});

function newStore(t: TestContext): [string, FolderTarget] {
  const data = newDataFolder(t);
  return [data, new FolderTarget(`${data}-target`)];
}

/** Runs the load until it kills itself, or for so long after it has begun. */
async function killedRun(
  args: readonly string[],
  msMax: number,
): Promise<{ readonly created: number; readonly sent: number }> {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const reached = { created: -1, sent: -1 };
  const timer = setTimeout(() => child.kill('SIGKILL'), msMax);
  createInterface({ input: child.stdout }).on('line', (line) => {
    const [what, n] = line.split(' ');
    if (what === 'created' || what === 'sent') reached[what] = Number(n);
  });
  const [, signal] = await once(child, 'close');
  clearTimeout(timer);
  assert.equal(signal, 'SIGKILL');
  return reached;
}

/** The last item of a restore, which has all items before it; -1 without one, or without a backup. */
async function lastRestored(t: TestContext, target: FolderTarget, sent: number): Promise<number> {
  const items = await restoredItems(target, newDataFolder(t)).catch((error: Error) => {
    const problem = `${error.message} ${(error as { problems?: unknown }).problems}`;
    // The first backup was not finished.
    if (sent < 0 && /there is no (good )?backup|there is no such folder/.test(problem))
      return new Map<string, string>();
    throw error;
  });
  assert.deepEqual(
    [...items.keys()].map(Number),
    Array.from({ length: items.size }, (_, n) => n),
  );
  return items.size - 1;
}

async function lastIn(data: string): Promise<number> {
  const engine = openLmdbEngine(data);
  const count = (await engine.count('table:t')) ?? 0;
  await engine.close();
  return count - 1;
}

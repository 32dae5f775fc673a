import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { FolderTarget } from '../../src/backup/folder-target.ts';
import { backupsIn } from '../../src/storage/lmdb/backup/catalogue.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { runCommand } from '../support/command.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';
import { tryToPost } from '../support/try-to-send.ts';

const onLmdb = { skip: process.env.TEST_STORE === 'dynamodb' ? 'the embedded store only' : false };
/** 29 February: no backup but the first is due. */
const never = '0 0 29 2 *';

test(
  'one of several workers makes the backups; when it is killed another goes on, and nothing is lost',
  onLmdb,
  async (t) => {
    const { data, target, env } = prepare(t);
    const service = await ServeProcess.start(t, { data, workers: 2, env });
    const origin = await service.ready();
    await create(origin, 0, 20);
    await until(async () => (await listed(target)).length === 1, 'a backup is made at the first start');
    await upToDate(origin);
    for (const pid of service.workerPids) {
      process.kill(pid, 'SIGKILL');
      await sleep(500);
    }
    await create(origin, 20, 40);
    await upToDate(origin);
    assert.equal((await listed(target)).length, 1, 'the new owner makes none: the chain goes on');
    await service.kill();
    const restored = `${data}-restored`;
    const put = await runCommand(['restore', target, '--json'], { COUNTERFOIL_DATA: restored });
    assert.equal(put.status, 0, put.errors);
    const { output } = await runCommand(['tables', 'list', '--json'], { COUNTERFOIL_DATA: restored });
    assert.equal(JSON.parse(output.trim()).count, 40);
  },
);

test('a service that stops has sent everything', onLmdb, async (t) => {
  const { data, target, env } = prepare(t, { COUNTERFOIL_BACKUP_CONTINUOUS: '3600' });
  const service = await ServeProcess.start(t, { data, env });
  const origin = await service.ready();
  await until(async () => (await listed(target)).length === 1, 'the first backup is made');
  await create(origin, 0, 20);
  await service.terminate();
  const restored = `${data}-restored`;
  const put = await runCommand(['restore', target], { COUNTERFOIL_DATA: restored });
  assert.equal(put.status, 0, put.errors);
  const { output } = await runCommand(['tables', 'list', '--json'], { COUNTERFOIL_DATA: restored });
  assert.equal(JSON.parse(output.trim()).count, 20);
});

test(
  'backups are made by their schedule, as many as are kept stay, and doctor looks for them',
  onLmdb,
  async (t) => {
    const { data, target, env } = prepare(t, {
      COUNTERFOIL_BACKUP_SCHEDULE: '* * * * * *',
      COUNTERFOIL_BACKUP_KEEP: '2',
    });
    const wrong = await runCommand(['serve'], { ...env, COUNTERFOIL_DATA: data });
    assert.equal(wrong.status, 2);
    assert.match(wrong.errors, /backup\.schedule \(COUNTERFOIL_BACKUP_SCHEDULE\)/);
    const settings = { ...env, COUNTERFOIL_BACKUP_SCHEDULE: '* * * * *' };
    const service = await ServeProcess.start(t, { data, env: settings });
    await service.ready();
    await until(async () => (await listed(target)).length > 0, 'the first');
    const [first] = await listed(target);
    await until(
      async () => !(await listed(target)).includes(first ?? ''),
      'the first is deleted for two newer ones',
      4,
    );
    assert.ok((await listed(target)).length <= 2);
    const doctor = await runCommand(['doctor'], { ...settings, COUNTERFOIL_DATA: data });
    assert.match(doctor.output, /ok backups: the newest of .* is counterfoil-/);
    const elsewhere = { ...settings, COUNTERFOIL_BACKUP_TARGET: `${target}-missing`, COUNTERFOIL_DATA: data };
    assert.match((await runCommand(['doctor'], elsewhere)).output, /problem backups: .*no such folder/);
    await service.kill();
  },
);

function prepare(t: TestContext, changed: Readonly<Record<string, string>> = {}) {
  const data = newData(t);
  const target = `${data}-backups`;
  const env = {
    COUNTERFOIL_BACKUP_TARGET: target,
    COUNTERFOIL_BACKUP_CONTINUOUS: '1',
    COUNTERFOIL_BACKUP_SCHEDULE: never,
    ...changed,
  };
  return { data, target, env };
}

async function create(origin: string, from: number, to: number): Promise<void> {
  for (let n = from; n < to; n++) {
    const body = { id: `${n}`, name: 'x' };
    await until(async () => {
      const reply = await tryToPost(`${origin}/v3/table/t/create`, body);
      // After a lost reply the item may be there.
      return reply?.status === 200 || reply?.status === 409 || reply?.status === 400;
    }, `item ${n} is created`);
  }
}

/** Waits until all that was acknowledged before is in segments. */
async function upToDate(origin: string): Promise<void> {
  const began = Date.now();
  await until(
    async () => {
      const text = await fetch(`${origin}/metrics`).then(
        (reply) => reply.text(),
        () => '',
      );
      const lag = /^counterfoil_backup_lag_seconds ([\d.]+)$/m.exec(text)?.[1];
      return lag !== undefined && Date.now() - Number(lag) * 1_000 > began + 50;
    },
    'everything is sent',
    2,
  );
}

/** The names of the backups; none while there is no target. */
async function listed(target: string): Promise<string[]> {
  if (!existsSync(target)) return [];
  return (await backupsIn(new FolderTarget(target))).map(({ name }) => name);
}

async function until(holds: () => Promise<boolean>, what: string, patience = 1): Promise<void> {
  for (const giveUpAt = Date.now() + patience * givenUpMs; !(await holds()); await sleep(50))
    assert.ok(Date.now() < giveUpAt, what);
}

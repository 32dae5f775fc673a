import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { readSmall } from '../../src/backup/small-files.ts';
import type { BackupTarget } from '../../src/backup/target.ts';
import { newDataFolder } from '../support/service.ts';

/** More than one part of an upload, and no multiple of one. */
const largeBytes = 20 * 1024 * 1024 + 7;

export interface TargetUnderTest {
  /** A target without files. */
  readonly newTarget: (t: TestContext) => Promise<BackupTarget>;
}

/** What each target of backups promises. */
export function testTargetContract(name: string, { newTarget }: TargetUnderTest): void {
  const promise = (what: string, work: (target: BackupTarget, t: TestContext) => Promise<void>) =>
    test(`${name}: ${what}`, async (t) => {
      const target = await newTarget(t);
      t.after(() => target.close());
      await target.prepare();
      await work(target, t);
    });

  promise('returns what was put, and undefined for a missing file', async (target) => {
    assert.equal(await target.put('a.json', Buffer.from('one')), 'written');
    assert.equal((await readSmall(target, 'a.json', 100))?.toString(), 'one');
    assert.equal(await target.sizeOf('a.json'), 3);
    assert.equal(await target.get('b.json'), undefined);
    assert.equal(await target.sizeOf('b.json'), undefined);
  });

  promise('of concurrent puts under one name one is written and stays', async (target) => {
    const put = (n: number) => target.put('once.json', Buffer.from(`${n}`));
    const results = await Promise.all(Array.from({ length: 8 }, (_, n) => put(n)));
    assert.equal(results.filter((result) => result === 'written').length, 1, results.join());
    const winner = results.indexOf('written');
    assert.equal((await readSmall(target, 'once.json', 100))?.toString(), `${winner}`);
  });

  promise('takes a large file, and returns its bytes', async (target, t) => {
    const bytes = randomBytes(largeBytes);
    const path = join(target.drafts ?? newDataFolder(t), 'large');
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, bytes);
    await target.putFile('large.mdb', path);
    assert.equal(await target.sizeOf('large.mdb'), largeBytes);
    assert.ok((await readSmall(target, 'large.mdb', largeBytes))?.equals(bytes));
    await assert.rejects(readSmall(target, 'large.mdb', largeBytes - 1), /more than/);
  });

  promise('lists all files sorted by name, and no longer those that were removed', async (target) => {
    const names = Array.from({ length: 30 }, (_, n) => `f-${String(n).padStart(3, '0')}.zst`);
    await Promise.all(names.toReversed().map((each) => target.put(each, Buffer.from(each))));
    const listed = await target.list();
    assert.deepEqual(
      listed.map(({ name: each, bytes }) => [each, bytes]),
      names.map((each) => [each, each.length]),
    );
    await target.remove([...names.slice(1), 'never-there.zst']);
    assert.deepEqual(
      (await target.list()).map(({ name: each }) => each),
      names.slice(0, 1),
    );
  });
}

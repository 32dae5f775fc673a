import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { faults, startFaultyProxy } from '../../client/test/support/faulty-proxy.ts';
import { runCommand } from '../support/command.ts';
import { pick, randomFrom, seedOf } from '../support/random.ts';
import { newDataFolder, startTestService } from '../support/service.ts';
import { items } from '../support/tables/filled-tables.ts';
import { startTableCommands } from '../support/tables/table-commands.ts';

test('tables --url: the key of the service comes from the environment, and its errors keep their codes', async (t) => {
  const service = await startTestService(t, { env: { COUNTERFOIL_STRIPE_KEY: 'sk_test_123' } });
  await service.post('/v3/table/books/create', { id: 'emma', name: 'Austen' });
  const { authorization = '' } = service.keyHeader;
  const url = ['--url', service.origin];
  const key = authorization.replace('Bearer ', '');
  const listed = await runCommand(['tables', 'list', '--json', ...url], { COUNTERFOIL_API_KEY: key });
  assert.deepEqual([listed.status, listed.errors], [0, '']);
  assert.deepEqual(JSON.parse(listed.output), { name: 'books', count: 1, bytes: 29 });
  const codeOf = async (args: readonly string[], env: Record<string, string> = {}) => {
    const { status, output, errors } = await runCommand(['tables', ...args, '--json'], env);
    assert.equal(output, '');
    return [status, JSON.parse(errors).error.code];
  };
  assert.deepEqual(await codeOf(['list', ...url]), [1, 'unauthenticated']);
  assert.deepEqual(await codeOf(['drop', 'books', ...url], { COUNTERFOIL_API_KEY: 'ck_wrong' }), [
    1,
    'unauthenticated',
  ]);
  assert.deepEqual(await codeOf(['drop', 'none', ...url], { COUNTERFOIL_API_KEY: key }), [
    2,
    'table_not_found',
  ]);
  assert.deepEqual(await codeOf(['list', '--url', 'ftp://127.0.0.1']), [2, 'usage']);
  await service.stop();
  assert.deepEqual(await codeOf(['list', ...url]), [1, 'connection_failed']);
});

for (const onConflict of ['fail', 'skip', 'replace']) {
  test(`tables import --url --on-conflict ${onConflict}: a faulty network loses and doubles nothing`, async (t) => {
    const random = randomFrom(seedOf(t));
    const { service, folder, read } = await startTableCommands(t, 'service');
    const proxy = await startFaultyProxy(t, service.origin);
    let isFirst = true;
    proxy.next = () => {
      const fault = isFirst ? 'lose' : undefined;
      isFirst = false;
      if (fault !== undefined) return fault;
      if (random() < 0.5) return 'pass';
      return random() < 0.2 ? 'busy' : pick(random, faults);
    };
    const all = items(4_000, 40);
    const file = join(folder, 'all.jsonl');
    writeFileSync(file, all.map((item) => `${JSON.stringify(item)}\n`).join(''));
    const args = ['tables', 'import', 'books', file, '--on-conflict', onConflict, '--url', proxy.url];
    const { status, output, errors } = await runCommand([...args, '--json'], {});
    assert.deepEqual([status, errors], [0, '']);
    assert.deepEqual(JSON.parse(output), { table: 'books', written: all.length, skipped: 0 });
    await proxy.quiet();
    assert.deepEqual(await read('books'), all);
    assert.ok((proxy.counts.get('lose') ?? 0) + (proxy.counts.get('late') ?? 0) > 0, 'no response was lost');
  });
}

test('tables export --url: leaves no file if the response breaks', async (t) => {
  const { service, folder } = await startTableCommands(t, 'service');
  const proxy = await startFaultyProxy(t, service.origin);
  await service.post('/v3/table/books/create', { id: 'emma', name: 'Austen' });
  const file = join(newDataFolder(t), 'books.csv');
  // The number of items arrives, and the items do not.
  let requests = 0;
  proxy.next = () => (requests++ === 0 ? 'pass' : 'truncate');
  const broken = await runCommand(
    ['tables', 'export', 'books', file, '--url', proxy.url, '--json'],
    {},
    folder,
  );
  assert.deepEqual([broken.status, broken.output], [1, '']);
  assert.throws(() => readFileSync(file), /ENOENT/);
  assert.throws(() => readFileSync(`${file}.partial`), /ENOENT/);
});

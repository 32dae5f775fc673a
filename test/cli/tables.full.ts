import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { givenUpMs } from '../support/busy-machine.ts';
import { runCommand } from '../support/command.ts';
import { newDataFolder, startTestService } from '../support/service.ts';
import { hardCharacters } from '../support/storage/hard-ids.ts';
import { byIdBytes, fill, type Item, items } from '../support/tables/filled-tables.ts';

const program = join(import.meta.dirname, '../../src/cli/counterfoil.ts');

/** Strings that CSV and JSON readers like to change. */
const nasty = [
  ...hardCharacters,
  ...[
    '"',
    '""',
    ',',
    ';',
    '\t',
    '\n',
    '\r',
    '\r\n',
    ' ',
    ' a ',
    '\ufeff',
    '\ufeffa',
    '=1+1',
    '#a',
    '\\',
    '\\n',
    'null',
  ],
  ...[
    '1e5',
    '007',
    '\u0000',
    '\u2028',
    '\u2029',
    '\u0085',
    'e\u0301',
    'é',
    '😀',
    '\u{10ffff}',
    '\ufffd',
    '__proto__',
  ],
  ...[
    'a\r',
    '\ra',
    'a\n',
    '\n\n',
    '"a',
    'a"',
    '","',
    '"\n"',
    '\r\n"',
    "'",
    '{"id":"x"}',
    '\u202e',
    '\u001b[31m',
  ],
];

/** A running service, and commands on its data. */
async function start(t: TestContext) {
  const data = newDataFolder(t);
  const folder = newDataFolder(t);
  mkdirSync(folder, { recursive: true });
  const service = await startTestService(t, { data });
  const env = { COUNTERFOIL_DATA: data };
  const run = (...args: string[]) => runCommand(['tables', ...args], env, folder);
  const feed = (input: string | Buffer, ...args: string[]) =>
    runCommand(['tables', ...args], env, folder, input);
  const read = async (table: string): Promise<Item[]> =>
    (await service.get(`/v3/table/${table}/read`)).json.body;
  const errorOf = async (input: string | Buffer, ...args: string[]) => {
    const { status, output, errors } = await feed(input, ...args, '--json');
    assert.deepEqual([status, output], [1, ''], errors);
    return JSON.parse(errors).error as { readonly code: string; readonly message: string };
  };
  return { service, env, folder, run, feed, read, errorOf };
}

test('tables export and import: every string comes back byte for byte, in every format', async (t) => {
  const { service, folder, run, feed, read } = await start(t);
  const texts = [
    ...new Set([...nasty, ...nasty.map((text) => `${text}x`), ...nasty.map((text) => `x${text}`)]),
  ];
  const all = texts.filter((text) => text !== '').map((text, n) => ({ id: text, name: texts.at(-n) ?? '' }));
  all.push({ id: 'empty', name: '' }, { id: 'long', name: '\u0001"\n'.repeat(100_000) });
  await fill(service, '/v3/table/from', all);
  const expected = all.toSorted(byIdBytes);
  for (const name of ['a.csv', 'a.jsonl', 'a.csv.gz', 'a.ndjson.gz']) {
    const table = name.replaceAll('.', '-');
    const exported = await run('export', 'from', name);
    assert.deepEqual([exported.status, exported.errors], [0, ''], exported.errors);
    const imported = await run('import', table, name, '--json');
    assert.deepEqual(
      JSON.parse(imported.output),
      { table, written: all.length, skipped: 0 },
      imported.errors,
    );
    assert.deepEqual(await read(table), expected, name);
  }
  const text = readFileSync(join(folder, 'a.csv'));
  assert.deepEqual(gunzipSync(readFileSync(join(folder, 'a.csv.gz'))), text);
  const piped = await run('export', 'a-jsonl', '-', '--format', 'csv');
  assert.equal(piped.output, text.toString());
  assert.equal((await feed(piped.output, 'import', 'piped', '-', '--format', 'csv')).status, 0);
  assert.deepEqual(await read('piped'), expected);
});

test('tables import: reads the columns of --map, with every kind of line end, and ignores the others', async (t) => {
  const { feed, read } = await start(t);
  const map = ['--map', 'id=isbn,name=title'];
  const expected = [
    { id: '1', name: 'Emma\nor "x"' },
    { id: '2', name: '' },
  ];
  for (const [n, csv] of [
    '\ufeffisbn,price,title\n1,5,"Emma\nor ""x"""\n2,,\n\n',
    'title,isbn\r\n"Emma\nor ""x""",1\r\n,2',
  ].entries()) {
    const { status, errors } = await feed(csv, 'import', `csv${n}`, '-', '--format', 'csv', ...map);
    assert.equal(status, 0, errors);
    assert.deepEqual(await read(`csv${n}`), expected);
  }
  const lines = '{"isbn":"1","title":"Emma\\nor \\"x\\"","price":5}\r\n\n{"title":"","isbn":"2"}';
  assert.equal((await feed(lines, 'import', 'json', '-', '--format', 'jsonl', ...map)).status, 0);
  assert.deepEqual(await read('json'), expected);
});

test('tables import: fails, skips or replaces an item that the table has', async (t) => {
  const { service, feed, read, errorOf } = await start(t);
  const csv = (name: string, from = 0) =>
    `id,name\n${Array.from({ length: 250 }, (_, n) => `id-${String(n + from).padStart(4, '0')},${name}\n`).join('')}`;
  await service.post('/v3/table/books/create', { id: 'id-0150', name: 'mine' });
  const args = ['import', 'books', '-', '--format', 'csv'];
  const error = await errorOf(csv('a'), ...args);
  assert.equal(error.code, 'line_rejected');
  assert.match(error.message, /^line 152: The table already has .* \(100 items were written before\)$/);
  assert.equal((await read('books')).length, 101);
  const skipped = await feed(csv('b'), ...args, '--on-conflict', 'skip', '--json');
  assert.deepEqual(JSON.parse(skipped.output), { table: 'books', written: 149, skipped: 101 });
  const names = (await read('books')).map(({ name }) => name);
  assert.deepEqual(names, [...Array(100).fill('a'), ...Array(50).fill('b'), 'mine', ...Array(99).fill('b')]);
  assert.equal((await feed(csv('c'), ...args, '--on-conflict', 'replace')).status, 0);
  assert.ok((await read('books')).every(({ name }) => name === 'c'));
  const twice = await errorOf('id,name\na,1\na,2\n', ...args);
  assert.match(twice.message, /^line 3: The table already has .* \(1 items were written before\)$/);
  await feed('id,name\nz,1\nz,2\n', ...args, '--on-conflict', 'replace');
  assert.equal((await read('books')).at(-1)?.name, '2');
});

test('tables import: names the line that has no valid item, and writes those before it', async (t) => {
  const { read, errorOf } = await start(t);
  const good = (n: number) => `good${n}`;
  const invalid = Buffer.from([0x78, 0xff]);
  const cases: readonly (readonly ['csv' | 'jsonl', string | Buffer, number, RegExp])[] = [
    ['csv', '"a\nb"', 4, /has 1 fields/],
    ['csv', 'a,b,c', 4, /has 3 fields/],
    ['csv', ',b', 4, /id must be 1 to 1024 bytes/],
    ['csv', `${'x'.repeat(1_025)},b`, 4, /id must be 1 to 1024 bytes/],
    ['csv', '"a"b,c', 4, /Invalid Closing Quote/],
    ['csv', Buffer.concat([invalid, Buffer.from(',b')]), 4, /is not UTF-8/],
    ['jsonl', '{"id":"a"}', 3, /has no string name/],
    ['jsonl', '{"id":1,"name":""}', 3, /has no string id/],
    ['jsonl', '{"id":"a","name":"\\ud800"}', 3, /half of a surrogate pair/],
    ['jsonl', '["a","b"]', 3, /is not a JSON object/],
    ['jsonl', '{"id":"a"', 3, /is not JSON/],
    [
      'jsonl',
      Buffer.concat([Buffer.from('{"id":"'), invalid, Buffer.from('","name":""}')]),
      3,
      /is not UTF-8/,
    ],
    ['jsonl', 'x'.repeat(5_000_000), 3, /is longer than/],
  ];
  for (const [n, [format, bad, line, reason]] of cases.entries()) {
    const before =
      format === 'csv'
        ? `id,name\n${good(1)},\n${good(2)},\n`
        : [1, 2].map((each) => `${JSON.stringify({ id: good(each), name: '' })}\n`).join('');
    const input = Buffer.concat([Buffer.from(before), Buffer.from(bad), Buffer.from('\n')]);
    const error = await errorOf(input, 'import', `t${n}`, '-', '--format', format);
    assert.equal(error.code, 'line_rejected', error.message);
    assert.match(error.message, new RegExp(`^line ${line}: .*${reason.source}`), `${n}`);
    // An item that the table rejects takes its whole commit with it.
    const isOfTable = /bytes|surrogate/.test(reason.source);
    assert.match(error.message, new RegExp(`\\(${isOfTable ? 0 : 2} items were written before\\)$`));
    if (!isOfTable)
      assert.deepEqual(
        (await read(`t${n}`)).map(({ id }) => id),
        [good(1), good(2)],
      );
  }
  for (const [csv, reason] of [
    ['', /the file is empty/],
    ['id,title\n', /there is no column name/],
    ['id,name,id\n', /there are 2 columns id/],
  ] as const)
    assert.match((await errorOf(csv, 'import', 'none', '-', '--format', 'csv')).message, reason);
});

test('tables import: a kill leaves whole hundreds, and the same import with skip continues', async (t) => {
  const { service, env, folder, run, read } = await start(t);
  const all = items(3_000, 20);
  const text = all.map((item) => `${JSON.stringify(item)}\n`);
  writeFileSync(join(folder, 'all.jsonl'), text.join(''));
  const args = [program, 'tables', 'import', 'books', '-', '--format', 'jsonl'];
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  child.stdin.on('error', () => undefined).write(text.slice(0, 1_050).join(''));
  const until = performance.now() + givenUpMs;
  const count = async () => (await service.get('/v3/table/books/read?count=true')).json.body.count ?? 0;
  while ((await count()) < 100) {
    assert.ok(performance.now() < until, 'nothing is imported');
    await sleep(5);
  }
  child.kill('SIGKILL');
  await once(child, 'exit');
  const left = await read('books');
  assert.equal(left.length % 100, 0);
  assert.deepEqual(left, all.slice(0, left.length));
  const resumed = await run('import', 'books', 'all.jsonl', '--on-conflict', 'skip', '--json');
  const expected = { table: 'books', written: all.length - left.length, skipped: left.length };
  assert.deepEqual(JSON.parse(resumed.output), expected);
  assert.deepEqual(await read('books'), all);
});

test('tables list and drop: show and delete the tables of the running service', async (t) => {
  const { service, run } = await start(t);
  for (const table of ['a', 'b']) await fill(service, `/v3/table/${table}`, items(120, 5));
  const listed = await run('list', '--json');
  const lines = listed.output
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(lines, (await service.get('/v3/tables')).json.body);
  assert.match((await run('list')).output, /^TABLE +ITEMS +BYTES\na +120 +\d+\nb +120 +\d+\n$/);
  assert.equal((await run('drop', 'a')).output, 'Table a is deleted\n');
  assert.equal((await service.get('/v3/table/a/read')).json.body.error.code, 'table_not_found');
  const again = await run('drop', 'a', '--json');
  assert.equal(JSON.parse(again.errors).error.code, 'table_not_found');
});

test('tables export and import: report files that exist, are missing or broken, and leave no partial file', async (t) => {
  const { service, folder, run, errorOf } = await start(t);
  await fill(service, '/v3/table/a', items(5, 5));
  assert.equal((await run('export', 'a', 'a.csv')).status, 0);
  const before = readFileSync(join(folder, 'a.csv'));
  assert.equal((await errorOf('', 'export', 'a', 'a.csv')).code, 'file_exists');
  assert.deepEqual(readFileSync(join(folder, 'a.csv')), before);
  assert.equal((await run('export', 'a', 'a.csv', '--force')).status, 0);
  assert.equal((await errorOf('', 'export', 'a', 'none/a.csv')).code, 'file_not_written');
  assert.equal((await run('export', 'none', 'none.csv')).status, 2);
  assert.ok(!existsSync(join(folder, 'none.csv')) && !existsSync(join(folder, 'a.csv.partial')));
  assert.equal((await errorOf('', 'import', 'b', 'none.csv')).code, 'file_not_read');
  const compressed = gzipSync(before);
  writeFileSync(join(folder, 'cut.csv.gz'), compressed.subarray(0, compressed.length - 20));
  assert.equal((await errorOf('', 'import', 'b', 'cut.csv.gz')).code, 'file_not_read');
  for (const args of [
    ['export', 'a', '-'],
    ['import', 'a', 'a.txt'],
    ['import', 'a', 'a.csv', '--map', 'id'],
    ['import', 'a', 'a.csv', '--on-conflict', 'merge'],
  ])
    assert.equal((await run(...args)).status, 2, args.join(' '));
});

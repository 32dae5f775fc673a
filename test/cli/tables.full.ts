import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { byIdBytes, fill, items } from '../support/tables/filled-tables.ts';
import { nastyStrings, naughtyStrings } from '../support/tables/nasty-strings.ts';
import { places, startTableCommands } from '../support/tables/table-commands.ts';

/** Each write to it fails with ENOSPC. */
const fullDisk = '/dev/full';

for (const place of places) {
  test(`tables export and import in a ${place}: every string comes back byte for byte, in every format`, async (t) => {
    const { service, folder, run, feed, read } = await startTableCommands(t, place);
    const texts = [
      ...new Set([
        ...naughtyStrings(),
        ...nastyStrings,
        ...nastyStrings.map((text) => `${text}x`),
        ...nastyStrings.map((text) => `x${text}`),
      ]),
    ];
    const all = texts
      .filter((text) => text !== '')
      .map((text, n) => ({ id: text, name: texts.at(-n) ?? '' }));
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

  test(`tables import in a ${place}: reads the columns of --map, with every kind of line end, and ignores the others`, async (t) => {
    const { feed, read } = await startTableCommands(t, place);
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
    // A byte order mark, as some editors write it, and an empty line.
    const lines = '\ufeff{"isbn":"1","title":"Emma\\nor \\"x\\"","price":5}\r\n\n{"title":"","isbn":"2"}';
    assert.equal((await feed(lines, 'import', 'json', '-', '--format', 'jsonl', ...map)).status, 0);
    assert.deepEqual(await read('json'), expected);
  });

  test(`tables import in a ${place}: fails, skips or replaces an item that the table has`, async (t) => {
    const { service, folder, feed, read, errorOf } = await startTableCommands(t, place);
    const csv = (name: string, from = 0) =>
      `id,name\n${Array.from({ length: 250 }, (_, n) => `id-${String(n + from).padStart(4, '0')},${name}\n`).join('')}`;
    await service.post('/v3/table/books/create', { id: 'id-0150', name: 'mine' });
    const args = ['import', 'books', '-', '--format', 'csv'];
    const error = await errorOf(csv('a'), ...args);
    assert.equal(error.code, 'line_rejected');
    assert.match(error.message, /^line 152: The table already has .* \(150 items were written\)$/);
    assert.equal((await read('books')).length, 151);
    const skipped = await feed(
      csv('b'),
      ...args,
      '--on-conflict',
      'skip',
      '--skipped',
      'skipped.jsonl',
      '--json',
    );
    assert.deepEqual(JSON.parse(skipped.output), { table: 'books', written: 99, skipped: 151 });
    const report = readFileSync(join(folder, 'skipped.jsonl'), 'utf8').trimEnd().split('\n');
    assert.equal(report.length, 151);
    assert.ok(report.includes('{"line":152,"id":"id-0150"}'));
    const names = (await read('books')).map(({ name }) => name);
    assert.deepEqual(names, [
      ...Array(100).fill('a'),
      ...Array(50).fill('b'),
      'mine',
      ...Array(49).fill('b'),
      ...Array(50).fill('a'),
    ]);
    const unwritten = await errorOf(csv('d'), ...args, '--on-conflict', 'skip', '--skipped', fullDisk);
    assert.equal(unwritten.code, 'file_not_written');
    assert.equal((await feed(csv('c'), ...args, '--on-conflict', 'replace')).status, 0);
    assert.ok((await read('books')).every(({ name }) => name === 'c'));
    const twice = await errorOf('id,name\na,1\na,2\n', ...args);
    assert.match(twice.message, /^line 3: The table already has .* \(1 items were written\)$/);
    await feed('id,name\nz,1\nz,2\n', ...args, '--on-conflict', 'replace');
    assert.equal((await read('books')).at(-1)?.name, '2');
  });

  test(`tables import in a ${place}: names the line that has no valid item, and writes those before it`, async (t) => {
    const { read, errorOf } = await startTableCommands(t, place);
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
      ['jsonl', '{"id":"a","name":"one","name":"two"}', 3, /has the same field twice/],
      ['jsonl', '{"id":"a","name":"","\\u006eame":"two"}', 3, /has the same field twice/],
      ['jsonl', '{"id":"a","name":"","__proto__":{}}', 3, /has a field "__proto__"/],
      ['jsonl', `{"id":"a","name":"","x":${'['.repeat(40)}${']'.repeat(40)}}`, 3, /nested deeper than 32/],
      ['jsonl', `{"id":"a","name":"","x":[${'0,'.repeat(6_000)}0]}`, 3, /more than 5,000 fields/],
      ['jsonl', '{"id":"a","name":"","x":12345678901234567890}', 3, /without rounding/],
      [
        'jsonl',
        Buffer.concat([Buffer.from('{"id":"'), invalid, Buffer.from('","name":""}')]),
        3,
        /is not UTF-8/,
      ],
      [
        'jsonl',
        Buffer.concat([Buffer.from('\n{"id":"'), invalid, Buffer.from('","name":""}')]),
        4,
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
      assert.match(error.message, /\(2 items were written\)$/);
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

  test(`tables copy in a ${place}: copies every item byte for byte, and fails, skips or replaces where there is one`, async (t) => {
    const { service, run, read, errorOf } = await startTableCommands(t, place);
    const all = [...new Set(nastyStrings)]
      .filter((text) => text !== '')
      .map((text) => ({ id: text, name: `${text}${text}` }));
    await fill(service, '/v3/table/from', all);
    const copied = await run('copy', 'from', 'to', '--json');
    assert.deepEqual(JSON.parse(copied.output), { from: 'from', to: 'to', written: all.length, skipped: 0 });
    assert.deepEqual(await read('to'), await read('from'));
    await service.send('PUT', '/v3/table/to/update', { id: 'null', name: 'mine' });
    await service.send('DELETE', '/v3/table/to/delete', { id: '007' });
    const error = await errorOf('', 'copy', 'from', 'to');
    assert.equal(error.code, 'line_rejected');
    assert.match(error.message, /^item ".*": The table already has/);
    const skipped = await run('copy', 'from', 'to', '--on-conflict', 'skip', '--json');
    assert.equal(JSON.parse(skipped.output).written, 1);
    assert.equal((await read('to')).find(({ id }) => id === 'null')?.name, 'mine');
    assert.equal((await run('copy', 'from', 'to', '--on-conflict', 'replace')).status, 0);
    assert.deepEqual(await read('to'), await read('from'));
    assert.equal((await run('copy', 'from', 'from')).status, 2);
    assert.equal((await run('copy', 'none', 'to')).status, 2);
  });

  test(`tables list and drop in a ${place}: show and delete the tables of the running service`, async (t) => {
    const { service, run } = await startTableCommands(t, place);
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

  test(`tables export and import in a ${place}: report files that exist, are missing or broken, and leave no partial file`, async (t) => {
    const { service, folder, run, errorOf } = await startTableCommands(t, place);
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
}

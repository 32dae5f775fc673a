import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Column, cutTo, Table, textWidth } from '../../src/cli/output/table.ts';
import { printable } from '../../src/cli/output/terminal-text.ts';

interface Row {
  readonly name: string | undefined;
  readonly amount: string;
}

const columns: readonly Column<Row>[] = [
  { title: 'NAME', cell: ({ name }) => name },
  { title: 'AMOUNT', cell: ({ amount }) => amount, align: 'right' },
];

function linesOf(rows: readonly Row[], columnsMax = Infinity): string[] {
  const table = new Table(columns, rows, columnsMax);
  return [table.header(), ...rows.map((row) => table.line(row))];
}

test('a table aligns its columns under their headings', () => {
  const rows = [
    { name: 'Ada', amount: '1.00 EUR' },
    { name: 'Grace Hopper', amount: '10.00 EUR' },
    { name: undefined, amount: '5' },
  ];
  assert.deepEqual(linesOf(rows), [
    'NAME             AMOUNT\n',
    'Ada            1.00 EUR\n',
    'Grace Hopper  10.00 EUR\n',
    '–                     5\n',
  ]);
});

test('a table aligns text that is wider or narrower than its characters', () => {
  for (const name of ['李小龙', 'e\u0301te\u0301', '👩‍👩‍👧', 'ｆｕｌｌ']) {
    const [, line = '', ascii = ''] = linesOf([
      { name, amount: '1' },
      { name: 'x', amount: '1' },
    ]);
    assert.equal(textWidth(line.trimEnd()), textWidth(ascii.trimEnd()), name);
  }
  assert.deepEqual(['李', 'é', 'e\u0301', '👩‍👩‍👧'].map(textWidth), [2, 1, 1, 2]);
});

test('a table is cut to the width of the terminal, with an ellipsis', () => {
  const rows = [
    { name: '李'.repeat(30), amount: '12345' },
    { name: 'x'.repeat(30), amount: '12345' },
  ];
  for (const width of [1, 2, 10, 11, 40, 62, 66]) {
    for (const line of linesOf(rows, width)) {
      const text = line.slice(0, -1);
      assert.ok(textWidth(text) <= width, `${width}: ${text}`);
    }
  }
  assert.match(linesOf(rows, 20)[1] ?? '', /^李+…\n$/);
  assert.deepEqual(linesOf(rows, 68), linesOf(rows), 'nothing is cut where all fits');
  assert.deepEqual(
    ['', '…', 'a…', 'abc'].map((_, width) => cutTo(width, 'abc')),
    ['', '…', 'a…', 'abc'],
  );
});

test('no cell can reach the terminal with control characters, or change the order of its line', () => {
  for (const hostile of [
    '\u001b[2J',
    '\n',
    '\r',
    '\u009b31m',
    '\u202e',
    '\u2028',
    '\u0000',
    '\t',
    '\u2066',
  ]) {
    const [, line = ''] = linesOf([{ name: `a${hostile}b`, amount: hostile }]);
    assert.match(line, /^a\\u[0-9a-f]{4}.*\n$/);
    assert.doesNotMatch(line.slice(0, -1), /[\p{Cc}\u2028\u202e\u2066]/u);
    const json = printable(JSON.stringify({ hostile }));
    assert.doesNotMatch(json, /[\p{Cc}\u2028\u202e\u2066]/u);
    assert.deepEqual(JSON.parse(json), { hostile });
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from '../../src/errors.ts';
import { parseStrictJson } from '../../src/strict-json.ts';
import { busyMachineMs } from '../support/busy-machine.ts';
import { create } from '../support/http/documented-operations.ts';
import { assertError } from '../support/http/error-response.ts';
import { startTestService } from '../support/service.ts';

/** `SEED=…` repeats a run; fast-check prints the seed of one that failed. */
const seed = process.env.SEED === undefined ? {} : { seed: Number(process.env.SEED) };

const parse = (text: string) => parseStrictJson(Buffer.from(text));

/** Numbers whose shortest text has at most 15 digits. */
const shortNumber = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => Number(number.toPrecision(15))),
  fc.constantFrom(0, 0.1, 1e21, 1e-7, 1e300, 999999999999999),
);
const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('"', '\\', '[', '{', ',', '{"a":'),
);
const { value: anyValue } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(shortNumber, text, fc.boolean(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(
      text.filter((key) => key !== '__proto__'),
      tie('value'),
      { maxKeys: 5, noNullPrototype: true },
    ),
  ),
}));

test('parses any JSON value like JSON.parse, with any whitespace and escapes', () => {
  fc.assert(
    fc.property(anyValue, fc.nat({ max: 3 }), (value, indent) => {
      for (const written of [JSON.stringify(value, null, indent), spelledOut(value)]) {
        assert.deepEqual(parse(written), JSON.parse(written));
      }
    }),
    { numRuns: 2_000, ...seed },
  );
});

test('rejects as malformed exactly what JSON.parse rejects', () => {
  const pieces = fc.constantFrom(
    ...[
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"b"',
      '"',
      '\\',
      '1',
      '-',
      '.',
      'e',
      '0',
      'true',
      'nul',
      ' ',
      '\n',
      '\u0000',
    ],
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
      const candidate = parts.join('');
      assert.equal(codeOf(candidate) === 'malformed_json', !isJson(candidate), candidate);
    }),
    { numRuns: 5_000, ...seed },
  );
});

test('rejects duplicate keys in one object, at any depth and with any escapes', () => {
  const twice = [
    '{"a":1,"a":1}',
    '{"a":1,"b":2,"a":3}',
    '{"a":1,"\\u0061":2}',
    '{"\\u0061":1,"a":2}',
    '{"a\\n":1,"a\\u000a":2}',
    '{"":1,"":2}',
    '{"\\"":1,"\\u0022":2}',
    '{"o":{"a":1,"a":2}}',
    '[[{"a":1},{"b":{"a":[],"a":[]}}]]',
    '{"a":{"b":1},"a":{"b":1}}',
    '{"é":1,"\\u00e9":2}',
    '{"🔑":1,"\\ud83d\\udd11":2}',
    '{ "a" : [ 1 , { } ] , "a" : 2 }',
    '{"constructor":1,"constructor":2}',
  ];
  for (const body of twice) assert.equal(codeOf(body), 'invalid_request', body);
  const once = [
    '{"a":{"a":{"a":1}}}',
    '[{"a":1},{"a":1}]',
    '{"a":["a","a"],"b":"a"}',
    '{"a":1,"A":2}',
    '{"e\\u0301":1,"\\u00e9":2}',
    '{"a":"b","b":"a"}',
    '{"a":{"b":1},"b":2}',
  ];
  for (const body of once) assert.deepEqual(parse(body), JSON.parse(body));
});

test('rejects a key __proto__ at any depth and with any escapes, and accepts it as a value', () => {
  for (const body of ['{"__proto__":{}}', '{"\\u005f_proto__":1}', '[{"a":{"__prot\\u006f__":null}}]']) {
    assert.equal(codeOf(body), 'invalid_request', body);
  }
  assert.deepEqual(parse('{"a":"__proto__"}'), { a: '__proto__' });
});

test('accepts 32 levels of nesting and rejects 33', () => {
  const nested = (open: string, close: string, depth: number) => open.repeat(depth) + 1 + close.repeat(depth);
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
  ] as const) {
    const deepest = nested(open, close, 32);
    assert.deepEqual(parse(deepest), JSON.parse(deepest));
    assert.equal(codeOf(nested(open, close, 33)), 'invalid_request');
  }
  const wide = `[${Array(1_000).fill('[[]]').join()}]`;
  assert.deepEqual(parse(wide), JSON.parse(wide));
  assert.equal(parse(`"${'['.repeat(33)}"`), '['.repeat(33));
});

test('accepts 5,000 fields and elements and rejects 5,001, at any place', () => {
  const fields = (count: number) => Array.from({ length: count }, (_, n) => `"${n}":","`).join();
  const shapes: Readonly<Record<string, (count: number) => string>> = {
    fields: (count) => `{${fields(count)}}`,
    elements: (count) => `[${'0,'.repeat(count - 1)}0]`,
    // Each object counts as an element, and has one field.
    objects: (count) => `[${'{"a":"\\\\"},'.repeat((count - 2) / 2)}{"a":0}]`,
  };
  for (const [what, shape] of Object.entries(shapes)) {
    assert.equal(codeOf(shape(5_000)), undefined, what);
    assert.equal(codeOf(shape(what === 'objects' ? 5_002 : 5_001)), 'invalid_request', what);
  }
});

test('rejects bytes that are not UTF-8', () => {
  const broken = ['ff', 'c080', '80', 'c3', 'eda080', 'f4908080', 'e28028', 'f0808080', 'fe'];
  for (const bytes of broken) {
    const body = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes, 'hex'), Buffer.from('"}')]);
    assert.equal(codeOf(body), 'malformed_json', bytes);
  }
  assert.equal(codeOf(Buffer.from('\ufeff{}')), 'malformed_json', 'a byte order mark is not JSON');
  assert.equal(codeOf(Buffer.from('{}', 'utf16le')), 'malformed_json');
  assert.deepEqual(parse('{"é🔑\uffff":"\u0080\u2028"}'), { 'é🔑\uffff': '\u0080\u2028' });
});

test('rejects a number that would be rounded, and parses every other exactly', () => {
  const rounded = [
    ...['9007199254740993', '-9007199254740993', '1234567890123456', '0.1234567890123456', '1e400', '-1e400'],
    ...[
      '1e-400',
      '99.99999999999999999',
      '0.30000000000000004',
      '1000000000000000000001',
      '123456789012345.6E3',
    ],
  ];
  for (const number of rounded) {
    for (const body of [number, `[${number}]`, `{"a":{"b":[0,${number}]}}`]) {
      assert.equal(codeOf(body), 'invalid_request', body);
    }
  }
  const exact = [
    ...[
      '0',
      '-0',
      '0.0',
      '0e9',
      '1e2',
      '1E+2',
      '100.000000000000000000',
      '999999999999999',
      '-0.000000123456789012345',
    ],
    ...['100000000000000000000000', '1e308', '0.1', '19.99', '123456789012345e-3'],
  ];
  for (const number of exact) assert.equal(parse(number), Number(number));
  assert.equal(parse('"9007199254740993"'), '9007199254740993');
});

test('rejects 1 MiB of JSON that is expensive to parse in a bounded time', async (t) => {
  const service = await startTestService(t);
  const mebibyte = 2 ** 20;
  const keys = Array.from({ length: 80_000 }, (_, index) => `"k${index}":1`).join();
  const bodies = {
    'many keys': `{${keys}}`,
    'many keys, the last one twice': `{${keys},"k79999":1}`,
    'open brackets': '['.repeat(mebibyte),
    'brackets, all closed': '['.repeat(mebibyte / 2) + ']'.repeat(mebibyte / 2),
    'braces, all closed': `${'{"":'.repeat(200_000)}1${'}'.repeat(200_000)}`,
    'one long number': '1'.repeat(mebibyte),
    'a number with a long exponent': `1e${'0'.repeat(mebibyte - 3)}1`,
    'many zeros': `0.${'0'.repeat(mebibyte - 3)}1`,
    'escapes in a key': `{"${'\\u0061'.repeat(170_000)}":1}`,
    backslashes: `"${'\\\\'.repeat(mebibyte / 2 - 1)}"`,
    blanks: ' '.repeat(mebibyte),
  };
  for (const [what, body] of Object.entries(bodies)) {
    await t.test(what, async () => {
      assert.ok(body.length > mebibyte / 2 && body.length <= mebibyte, `${body.length} bytes are nearly all`);
      const began = process.cpuUsage();
      const response = await service.post(create.path, body);
      // Measures CPU time, because on a busy machine the process may wait for a second.
      const { user, system } = process.cpuUsage(began);
      const ms = (user + system) / 1_000;
      assertError(response, { status: 400, code: response.json.body.error.code });
      assert.ok(ms < busyMachineMs, `${Math.round(ms)} ms`);
    });
  }
});

function codeOf(body: string | Buffer): string | undefined {
  try {
    parseStrictJson(Buffer.from(body));
    return undefined;
  } catch (error) {
    assert.ok(error instanceof ServiceError, String(error));
    return error.code;
  }
}

function isJson(candidate: string): boolean {
  try {
    JSON.parse(candidate);
    return true;
  } catch {
    return false;
  }
}

/** A value as JSON text in which every character is escaped, with whitespace wherever it is allowed. */
function spelledOut(value: unknown): string {
  if (typeof value === 'string') return ` "${value.replace(/./gs, escapeOf)}" `;
  if (Array.isArray(value)) return ` [ ${value.map(spelledOut).join(' , ')} ] `;
  if (typeof value !== 'object' || value === null) return `\t${JSON.stringify(value)}\r\n`;
  const fields = Object.entries(value).map(([key, field]) => `${spelledOut(key)}:${spelledOut(field)}`);
  return ` { ${fields.join(' , ')} } `;
}

/** @param unit one UTF-16 code unit */
function escapeOf(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

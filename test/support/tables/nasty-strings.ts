import { readFileSync } from 'node:fs';
import { hardCharacters } from '../storage/hard-ids.ts';

/** Strings that CSV and JSON readers like to change. */
export const nastyStrings: readonly string[] = [
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

/** The corpus of naughty strings that fit into an id, without those that are no well-formed text. */
export function naughtyStrings(): readonly string[] {
  const file = new URL('../../corpora/naughty-strings/blns.json', import.meta.url);
  const all = JSON.parse(readFileSync(file, 'utf8')) as readonly string[];
  return all.filter((text) => text.isWellFormed() && Buffer.byteLength(text) < 1_000);
}

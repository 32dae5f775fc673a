import { readFileSync } from 'node:fs';

/** The Big List of Naughty Strings, without the empty one. */
export function naughtyStrings(): readonly string[] {
  const file = new URL('../../corpora/naughty-strings/blns.json', import.meta.url);
  const all = JSON.parse(readFileSync(file, 'utf8')) as string[];
  return [...new Set(all)].filter((text) => text !== '' && text.isWellFormed());
}

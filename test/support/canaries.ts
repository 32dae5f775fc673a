import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The encodings in which a secret may appear. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  // Within a longer text, base64 encodes the same bytes in three ways.
  const base64 = [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
    return text.slice(Math.ceil((shift * 8) / 6), -4);
  });
  return [secret, ...base64, bytes.toString('hex'), encodeURIComponent(secret), bytes.toString('utf16le')];
}

/** Fails if a place contains one of the secrets, in any encoding. */
export function assertAbsent(secrets: readonly string[], places: Readonly<Record<string, Buffer>>): void {
  for (const secret of secrets) {
    for (const form of formsOf(secret)) {
      for (const [place, bytes] of Object.entries(places)) {
        assert.ok(!bytes.includes(form), `${place} has ${secret} as ${form}`);
      }
    }
  }
}

/** The files of a folder, by name. */
export function filesIn(folder: string): Record<string, Buffer> {
  return Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]));
}

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** How a secret may lie somewhere. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  // In the middle of a longer text base64 has three ways to write the same bytes.
  const base64 = [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
    return text.slice(Math.ceil((shift * 8) / 6), -4);
  });
  return [secret, ...base64, bytes.toString('hex'), encodeURIComponent(secret), bytes.toString('utf16le')];
}

/** Fails when a place has one of the secrets, in whatever form. */
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

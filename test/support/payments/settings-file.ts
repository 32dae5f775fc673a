import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** A `counterfoil.json` that is removed after the test. @returns its path */
export function writeSettings(t: TestContext, settings: unknown): string {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-settings-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'counterfoil.json');
  writeFileSync(file, JSON.stringify(settings));
  return file;
}

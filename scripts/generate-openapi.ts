import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startService } from '../src/app/service.ts';
import { loadSettings } from '../src/settings/load.ts';

/** Writes openapi.json as the service serves it; with `--check`, only reports whether the file is out of date. */
const file = new URL('../openapi.json', import.meta.url);
const text = `${JSON.stringify(await servedDocument(), null, 2)}\n`;

if (!process.argv.includes('--check')) {
  writeFileSync(file, text);
} else if (readFileSync(file, 'utf8') !== text) {
  process.stderr.write('openapi.json does not match the routes; run: npm run generate\n');
  process.exitCode = 1;
}

async function servedDocument(): Promise<unknown> {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-openapi-'));
  const env = { PORT: '0', COUNTERFOIL_DATA: join(folder, 'data'), COUNTERFOIL_LOG_LEVEL: 'silent' };
  const service = await startService(loadSettings({ env, file: '', simulate: true }), { simulate: true });
  try {
    return await (await fetch(`${service.origin}/openapi.json`)).json();
  } finally {
    await service.stop();
    rmSync(folder, { recursive: true });
  }
}

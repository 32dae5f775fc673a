import { readFileSync } from 'node:fs';

/** Next to src in a clone, and next to dist in the package. */
const manifest = new URL('../package.json', import.meta.url);

export const version: string = JSON.parse(readFileSync(manifest, 'utf8')).version;

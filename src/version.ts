import { readFileSync } from 'node:fs';

/** By its name, because the compiled files lie deeper than those of a clone. */
const manifest = new URL(import.meta.resolve('counterfoil/package.json'));

export const version: string = JSON.parse(readFileSync(manifest, 'utf8')).version;

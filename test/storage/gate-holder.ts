import { writeFileSync } from 'node:fs';
import { Gate } from '../../src/storage/lmdb/gate.ts';

/** Holds a store's gate until it is killed, or for so many milliseconds; files say that it holds it, and that it let go. */
const [storeFile = '', holdMs = ''] = process.argv.slice(2);

new Gate(storeFile).pass(() => {
  writeFileSync(`${storeFile}-held`, '');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(holdMs));
  writeFileSync(`${storeFile}-let-go`, '');
});

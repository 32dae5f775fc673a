import { writeFileSync } from 'node:fs';
import { StoreMutex } from '../../../src/storage/lmdb/file/store-mutex.ts';

/**
 * Holds a store's mutex until it is killed, or for a number of milliseconds. It writes a file when it holds or releases
 * it.
 */
const [storeFile = '', holdMs = ''] = process.argv.slice(2);

new StoreMutex(storeFile).hold(() => {
  writeFileSync(`${storeFile}-held`, '');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(holdMs));
  writeFileSync(`${storeFile}-released`, '');
});

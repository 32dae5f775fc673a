import { closeSync, fdatasyncSync, openSync, readdirSync, statfsSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { spreadOf } from './measure.ts';

/** The types that `statfs` returns for file systems in memory (linux/magic.h: tmpfs, ramfs). */
const memoryFileSystems: readonly number[] = [0x01021994, 0x858458f6];
const flushBytes = 4_096;
const flushRuns = 101;
/** The unit in which `stat` counts blocks on every file system (stat(2)). */
const blockBytes = 512;

/** Throws if the folder is in memory: a flush costs nothing there, so the figures would not hold on any disk. */
export function requireDisk(folder: string): void {
  if (!memoryFileSystems.includes(statfsSync(folder).type)) return;
  throw new Error(
    `${folder} is in memory, where nothing is durable; run again with TMPDIR set to a folder on a disk, ` +
      'for instance TMPDIR=/var/tmp',
  );
}

/** The least time that durability costs on this disk. The figures of durable writes depend on it. */
export function flushRemark(folder: string): string {
  return (
    `One write of ${flushBytes / 1_024} KiB with its flush took ${flushMs(folder).toFixed(2)} ms on this disk ` +
    `(median of ${flushRuns}).`
  );
}

/** The median of a small write with its flush, in milliseconds. */
export function flushMs(folder: string): number {
  return spreadOf(timeFlushes(join(folder, 'flushed'))).median;
}

function timeFlushes(file: string): number[] {
  const descriptor = openSync(file, 'w');
  const bytes = Buffer.alloc(flushBytes, 1);
  try {
    return Array.from({ length: flushRuns }, () => {
      const began = performance.now();
      writeSync(descriptor, bytes, 0, bytes.length, 0);
      fdatasyncSync(descriptor);
      return performance.now() - began;
    });
  } finally {
    closeSync(descriptor);
  }
}

/** The disk space that the files of a folder take, without their holes. */
export function bytesOnDisk(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return files.reduce((sum, file) => sum + statSync(join(folder, file)).blocks * blockBytes, 0);
}

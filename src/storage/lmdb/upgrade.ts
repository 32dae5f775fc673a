import { closeSync, openSync } from 'node:fs';
import type { RootDatabase } from 'lmdb';
import { DamagedStoreError, SettingsError } from '../../errors.ts';
import { type Databases, openDatabases } from './file/databases.ts';
import {
  checkFile,
  checkStructure,
  type Format,
  formatVersion,
  putFormat,
  readFormat,
  UpgradeNeeded,
} from './file/format.ts';
import { otherProcessesOn } from './file/in-use.ts';
import { StoreMutex } from './file/store-mutex.ts';
import { Verification } from './file/verification.ts';
import { upgradedLeavesPerStep } from './limits.ts';
import { firstKey, type OpenOptions, openEnvironment, openStore, type Store } from './store.ts';

/** What an upgrade goes through, in this order; `leaves` several times. Each is one transaction, durable when it has passed. */
export const upgradeSteps = ['verified', 'begun', 'leaves', 'done'] as const;
export type UpgradeStep = (typeof upgradeSteps)[number];

type Passed = (step: UpgradeStep) => void;

/** Opens a store as `openStore` does, and upgrades one of the format before. */
export function openUpgraded(file: string, options?: OpenOptions): Store {
  try {
    return openStore(file, options);
  } catch (error) {
    if (!(error instanceof UpgradeNeeded)) throw error;
  }
  upgradeStore(file);
  return openStore(file, options);
}

/**
 * Gives every leaf, entry of the journal and record of a store of format 2 a checksum; the store is then of format 3. It is verified
 * before, so that no damage gets a right checksum. Killed after any step, the store is of format 2 or upgraded halfway, and the next
 * call continues: leaves up to a key that the format names have checksums, the others do not. Does nothing to a store of format 3.
 *
 * Throws SettingsError when another process has the store open, because an older service would write without checksums, and
 * DamagedStoreError, without a change, when the store is damaged.
 *
 * @param passed called after each step
 */
export function upgradeStore(file: string, passed: Passed = () => undefined): void {
  const mutex = new StoreMutex(file);
  try {
    mutex.hold(() => upgradeAlone(file, passed));
  } finally {
    void mutex.close();
  }
}

function upgradeAlone(file: string, passed: Passed): void {
  checkFile(file);
  checkStructure(file);
  const root = openEnvironment(file);
  try {
    const format = readFormat(file, root);
    const isUpgraded = format.format === formatVersion && format.upgradedTo === undefined;
    // Another process was faster.
    if (isUpgraded) return;
    const pids = otherProcessesOn(root);
    if (pids.length > 0)
      throw new SettingsError([
        `data (COUNTERFOIL_DATA): ${file} must be upgraded, and process ${pids.join(', ')} has it open; stop it first`,
      ]);
    const old = openDatabases(root, false);
    const upgraded = openDatabases(root, true);
    const begun =
      format.upgradedTo === undefined ? begin(file, root, { format, old, upgraded }, passed) : format;
    addToLeaves(root, begun, old, upgraded, passed);
  } finally {
    void root.close();
  }
}

interface Beginning {
  readonly format: Format;
  readonly old: Databases;
  readonly upgraded: Databases;
}

/** Verifies the store, then makes it one of this format, in which no leaf has a checksum yet. */
function begin(
  file: string,
  root: RootDatabase<string, string>,
  { format, old, upgraded }: Beginning,
  passed: Passed,
): Format {
  checkIsWhole(file, { root, format, ...old, write: (work) => work(), close: async () => undefined });
  passed('verified');
  const begun = root.transactionSync(() => {
    // All in memory before the first is written: the library's buffers hold one value at a time.
    for (const { key, value } of [...old.journal.getRange({ start: 0 })])
      upgraded.journal.putSync(key, value);
    for (const { key, value } of [...old.records.getRange({ start: firstKey })])
      upgraded.records.putSync(key, value);
    return putFormat(root, { ...format, format: formatVersion, upgradedTo: firstKey });
  });
  passed('begun');
  return begun;
}

function checkIsWhole(file: string, store: Store): void {
  const descriptor = openSync(file, 'r');
  try {
    const { problems } = new Verification(store, descriptor).run();
    if (problems.length === 0) return;
    throw new DamagedStoreError(
      problems.map((problem) => `data (COUNTERFOIL_DATA): ${problem}; the store was not upgraded`),
    );
  } finally {
    closeSync(descriptor);
  }
}

function addToLeaves(
  root: RootDatabase<string, string>,
  begun: Format,
  old: Databases,
  upgraded: Databases,
  passed: Passed,
): void {
  const step = (format: Format): Format =>
    root.transactionSync(() => {
      const range = {
        start: format.upgradedTo as string,
        exclusiveStart: true,
        limit: upgradedLeavesPerStep,
      };
      const leaves = Array.from(old.leaves.getRange(range), ({ key, value }) => ({
        key,
        run: Buffer.from(value),
      }));
      for (const { key, run } of leaves) upgraded.leaves.putSync(key, run);
      return putFormat(root, { ...format, upgradedTo: leaves.at(-1)?.key });
    });
  let format = step(begun);
  while (format.upgradedTo !== undefined) {
    passed('leaves');
    format = step(format);
  }
  passed('done');
}

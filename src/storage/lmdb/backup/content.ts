import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { defined } from '../../../defined.ts';
import type { Space } from '../../engine.ts';
import type { Item } from '../../item-text.ts';
import { type ArchiveMark, entryTextsFrom, lastEntry, readArchiveMark } from '../log/journal.ts';
import { readChunks, readRuns } from '../log/leaves.ts';
import { Memtable } from '../log/memtable.ts';
import { openStoreToRead, type Store } from '../store.ts';
import type { Manifest, ManifestAccount } from './manifest.ts';
import { checksumAfter } from './segment.ts';

/** Bytes that a checksum reads at once: a megabyte keeps a disk busy, and costs little memory. */
const readBytesMax = 1024 * 1024;

type BackupContent = Pick<
  Manifest,
  | 'position'
  | 'last_commit_at'
  | 'store_id'
  | 'chain'
  | 'chain_checksum'
  | 'counts'
  | 'accounts'
  | 'store_format'
>;

const accountsSpace: Space = 'service:charge-accounts';

/** Describes a store that nothing writes to: its last commit and its content. */
export async function describeContent(file: string): Promise<BackupContent> {
  const store = openStoreToRead(file);
  try {
    const memtable = new Memtable(store);
    memtable.catchUp();
    const counts: Record<string, number> = { tables: 0, table_items: 0 };
    for (const space of memtable.spaces()) {
      const count = memtable.record(space)?.count ?? 0;
      const [family = '', kind = ''] = space.split(':');
      if (family === 'table') {
        counts.tables = (counts.tables ?? 0) + 1;
        counts.table_items = (counts.table_items ?? 0) + count;
      } else if (count > 0) counts[kind.replaceAll('-', '_')] = count;
    }
    const at = lastEntry(store)?.entry.at;
    const mark = readArchiveMark(store);
    const checksum = mark && chainChecksum(store, mark);
    return {
      position: memtable.last,
      ...defined({
        last_commit_at: at === undefined ? undefined : new Date(at).toISOString(),
        chain: mark?.chain,
        chain_checksum: checksum,
      }),
      store_id: store.format.id,
      counts,
      accounts: readAccounts(store, memtable),
      store_format: store.format.format,
    };
  } finally {
    await store.close();
  }
}

/** Reads the accounts of payments: each charge is committed with its account. */
function readAccounts(store: Store, memtable: Memtable): readonly ManifestAccount[] {
  const runs = readRuns(store, accountsSpace, memtable.changesOf(accountsSpace), {});
  const text = Buffer.concat(Array.from(readChunks(runs, {}), (chunk) => Buffer.from(chunk))).toString();
  const items = JSON.parse(`[${text}]`) as Item[];
  return items.map(({ name }) => JSON.parse(name) as ManifestAccount);
}

/** The running checksum after the last commit. Undefined if the journal lacks a commit that was not sent: then a new chain will begin. */
function chainChecksum(store: Store, { position, checksum }: ArchiveMark): string | undefined {
  let [running, next] = [checksum, position + 1];
  for (const entry of entryTextsFrom(store, next)) {
    if (entry.commit !== next++) return undefined;
    running = checksumAfter(running, entry);
  }
  return running;
}

/** The SHA-256 of a file in hexadecimal. @param rest called after each step */
export async function hashFile(path: string, rest: () => void = () => undefined): Promise<string> {
  const hash = createHash('sha256');
  for await (const bytes of createReadStream(path, { highWaterMark: readBytesMax })) {
    hash.update(bytes);
    rest();
  }
  return hash.digest('hex');
}

/** Writes bytes to a new file, flushed. @returns their SHA-256 in hexadecimal */
export async function writeChecked(pieces: AsyncIterable<Uint8Array>, path: string): Promise<string> {
  const hash = createHash('sha256');
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const bytes of pieces) {
      hash.update(bytes);
      await file.writeFile(bytes);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return hash.digest('hex');
}

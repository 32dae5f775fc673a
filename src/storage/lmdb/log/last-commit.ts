import { closeSync, openSync, readSync } from 'node:fs';

/** As in LMDB's mdb.c, struct MDB_txbody. */
const magic = 0xbeefc0de;
const transactionAt = 8;
/**
 * Where the writers' mutex may have its state, as in mdb.c, struct MDB_txninfo: it begins after one cache line, or after two where a
 * mutex is larger (glibc on arm64). The state is its first word in glibc, and its second one in musl.
 */
const writerLockAt = [64, 68, 128];
const headBytes = 132;
/** linux/futex.h: the owner of the lock has died, and nobody has taken it since. Another bit says whether somebody waits for it. */
const ownerDied = 0x4000_0000;
const ownerMask = 0x7fff_ffff;

/**
 * The number of the store's last transaction, from any process. It comes from the head of LMDB's lock file, which LMDB
 * itself reads when a snapshot begins. Reading it costs a tenth of beginning a snapshot.
 *
 * A writer advances the number after its transaction is on disk. One that dies in between leaves a transaction that no snapshot
 * shows, until the next writer finds the mutex abandoned and corrects the number (mdb_mutex_failed).
 */
export class LastCommit {
  readonly #file: number;
  readonly #head = Buffer.alloc(headBytes);

  constructor(storeFile: string) {
    this.#file = openSync(`${storeFile}-lock`, 'r');
    this.#readHead();
    if (this.#head.readUInt32LE(0) !== magic) {
      closeSync(this.#file);
      throw new Error(`${storeFile}-lock is not a lock file of this LMDB`);
    }
  }

  read(): number {
    this.#readHead();
    return this.#head.readUIntLE(transactionAt, 6);
  }

  /** Whether a writer had died in its transaction at the last `read`, and none has come after it: the number may lack that transaction. */
  get isInDoubt(): boolean {
    for (const at of writerLockAt) if ((this.#head.readUInt32LE(at) & ownerMask) === ownerDied) return true;
    return false;
  }

  close(): void {
    closeSync(this.#file);
  }

  #readHead(): void {
    readSync(this.#file, this.#head, 0, headBytes, 0);
  }
}

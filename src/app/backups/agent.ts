import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { BackupFailed, type BackupTarget } from '../../backup/target.ts';
import { backupLookMs, backupRetryMs, backupsShownMax, failureLogMs, lastArchivingMsMax } from '../limits.ts';
import { backupsByStore, claimTarget, describeBackups, JournalArchiver, openTarget } from './adapters.ts';
import type { BackupEvent, BackupKind, BackupPlan, BackupRequest, BackupsFound } from './messages.ts';
import { runSnapshot } from './run-snapshot.ts';
import { openSchedule, type Schedule } from './schedule.ts';

/**
 * The thread that makes the backups of a service. Of all processes on a store, the one with the lease works. The others check whether
 * it still holds the lease.
 */
class Agent {
  readonly #plan: BackupPlan;
  readonly #target: BackupTarget;
  readonly #archiver: JournalArchiver;
  readonly #schedule: Schedule;
  readonly #stopping = new AbortController();
  /** Manifests that `look` has read. */
  readonly #known: Parameters<typeof describeBackups>[2] = new Map();
  #isOwner = false;
  #isReady = false;
  /** The time of the newest good backup, in milliseconds since 1970. */
  #madeAt: number | undefined;
  /** Whether the chain of segments has no backup yet that it continues. */
  #needsBase = false;
  #snapshot: Promise<void> | undefined;
  #notBefore = 0;

  constructor(plan: BackupPlan, target: BackupTarget) {
    this.#plan = plan;
    this.#target = target;
    this.#archiver = new JournalArchiver(plan.file, target);
    this.#schedule = openSchedule(plan.backup.schedule);
  }

  async run(): Promise<void> {
    const { continuous } = this.#plan.backup;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.#round();
      const pauseMs = continuous === undefined ? backupLookMs : continuous * 1_000;
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
    await Promise.race([this.#round(), sleep(lastArchivingMsMax)]);
    await this.#snapshot;
    await this.#archiver.close();
    this.#target.close();
  }

  handle(request: BackupRequest): void {
    if (request === 'stop') this.#stopping.abort();
    else if (request === 'make') this.#begin();
    else void this.#lookAtBackups().then((found) => send({ kind: 'looked', found }));
  }

  /** Never rejects: what cannot be read is absent, and `problem` says why. */
  async #lookAtBackups(): Promise<BackupsFound> {
    let found: BackupsFound = { problem: undefined };
    try {
      const { storeId, progress, lastFailure } = this.#archiver;
      found = { ...found, storeId, progress, lastFailure };
      return { ...found, backups: await describeBackups(this.#target, backupsShownMax, this.#known) };
    } catch (error) {
      return { ...found, problem: (error as Error).message };
    }
  }

  /** Never rejects: a store or a target that fails now may work in the next round. */
  #round(): Promise<void> {
    return this.#try('continuous', () => this.#work());
  }

  async #work(): Promise<void> {
    if (!this.#archiver.lease.take()) {
      if (this.#isOwner) send({ kind: 'not_owner' });
      this.#isOwner = false;
      this.#isReady = false;
      this.#archiver.forget();
      return;
    }
    this.#isOwner = true;
    if (!this.#isReady) await this.#look();
    try {
      if (this.#plan.backup.continuous !== undefined) await this.#archive();
    } finally {
      this.#makeIfDue();
    }
  }

  /** Looks at the target, when this process begins to make backups. */
  async #look(): Promise<void> {
    const { storeId } = this.#archiver;
    await this.#target.prepare();
    await claimTarget(this.#target, storeId);
    const backups = (await backupsByStore(this.#target)).get(storeId) ?? [];
    const newest = backups.at(-1);
    this.#madeAt = newest && Date.parse(newest.time);
    const { chain } = this.#archiver;
    this.#needsBase = chain !== undefined && !backups.some((backup) => backup.chain === chain);
    this.#isReady = true;
    send({ kind: 'newest', madeAt: this.#madeAt });
  }

  async #archive(): Promise<void> {
    const upTo = Date.now();
    const { begun } = await this.#archiver.round();
    if (begun === undefined) {
      send({ kind: 'archived', upTo });
      return;
    }
    this.#needsBase = true;
    send({ kind: 'chain', reason: begun });
  }

  #makeIfDue(): void {
    const now = Date.now();
    const isDue = this.#needsBase || this.#schedule.isDue(this.#madeAt, now);
    if (isDue && this.#isReady && now >= this.#notBefore) this.#begin();
  }

  /** Does nothing while a backup is being made. */
  #begin(): void {
    if (this.#snapshot !== undefined || this.#stopping.signal.aborted) return;
    send({ kind: 'began' });
    this.#snapshot = this.#make().finally(() => {
      this.#snapshot = undefined;
    });
  }

  async #make(): Promise<void> {
    const { chain } = this.#archiver;
    const result = await runSnapshot(this.#plan, this.#stopping.signal);
    if ('name' in result) {
      this.#madeAt = result.madeAt;
      if (chain === this.#archiver.chain) this.#needsBase = false;
      send({ kind: 'made', ...result });
    } else if (!this.#stopping.signal.aborted) {
      this.#notBefore = Date.now() + backupRetryMs;
      this.#failed('snapshot', result);
    }
  }

  async #try(what: BackupKind, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const code = error instanceof BackupFailed ? error.code : 'internal';
      this.#failed(what, { code, message: (error as Error).message });
    }
  }

  #failed(what: BackupKind, { code, message }: { readonly code: string; readonly message: string }): void {
    const at = Date.now();
    const failure = { what, code, message };
    send({ kind: 'failed', ...failure });
    try {
      const { lastFailure: last } = this.#archiver;
      // While a target cannot be reached, each round fails.
      if (last?.message === message && at - last.at < failureLogMs) return;
      this.#archiver.noteFailure({ at, ...failure });
    } catch {
      // The backup may have failed because the store cannot be written.
    }
  }
}

function send(event: BackupEvent): void {
  parentPort?.postMessage(event);
}

const plan = workerData as BackupPlan;
const agent = new Agent(plan, await openTarget(plan, plan.backup.target));
parentPort?.on('message', (request: BackupRequest) => agent.handle(request));
await agent.run();
parentPort?.close();

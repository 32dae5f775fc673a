import { once } from 'node:events';
import { extname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { ServiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../telemetry.ts';
import { agentEndMsMax, agentStopMsMax, backupListMsMax, backupRetryMs, failureLogMs } from '../limits.ts';
import type { LastFailure } from './adapters.ts';
import type { BackupEvent, BackupPlan, BackupRequest, BackupsFound } from './messages.ts';

const program = new URL(`./agent${extname(import.meta.url)}`, import.meta.url);

/**
 * The agent's thread, for the rest of the process. A thread that ends is started again. Whatever a target does, no method waits longer
 * than its limit.
 */
export class AgentThread {
  readonly #plan: BackupPlan;
  readonly #status: BackupMonitor;
  readonly #log: Log;
  #worker: Worker;
  #isAlive = false;
  #isStopping = false;
  /** The running look, which later callers share. */
  #look: { readonly found: Promise<BackupsFound>; readonly end: (found: BackupsFound) => void } | undefined;

  constructor(plan: BackupPlan, status: BackupMonitor, log: Log) {
    this.#plan = plan;
    this.#status = status;
    this.#log = log;
    this.#worker = this.#begin();
  }

  /** Lists the backups at the target. Never rejects: after `backupListMsMax`, `problem` says that the target does not respond. */
  async look(): Promise<BackupsFound> {
    if (!this.#isAlive) return { problem: ended };
    if (this.#look === undefined) {
      const { promise: found, resolve: end } = Promise.withResolvers<BackupsFound>();
      this.#look = { found, end };
      this.#ask('look');
    }
    const done = new AbortController();
    const late = sleep(backupListMsMax, undefined, { signal: done.signal, ref: false });
    const problem = `${this.#plan.backup.target}: has not responded within ${backupListMsMax / 1_000} s`;
    const found = await Promise.race([this.#look.found, late.catch(() => undefined)]);
    done.abort();
    return found ?? { problem };
  }

  /**
   * Begins a backup. Throws `backup_running` if this process is making one, and what `note` throws. Then it begins no backup.
   *
   * @param note records who requested the backup
   * @returns when the backup began, in milliseconds since 1970
   */
  async make(note: () => Promise<void>, now: number): Promise<number> {
    if (!this.#isAlive) throw new ServiceError('unavailable', { message: ended });
    if (this.#status.runningSince !== undefined) throw new ServiceError('backup_running');
    this.#status.runningSince = now;
    try {
      await note();
    } catch (error) {
      this.#status.runningSince = undefined;
      throw error;
    }
    this.#ask('make');
    return now;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    const exited = once(this.#worker, 'exit').catch(() => undefined);
    this.#ask('stop');
    if (this.#worker.threadId > 0)
      await Promise.race([exited, sleep(agentStopMsMax, undefined, { ref: false })]);
    // A thread that waits for a folder on a lost network cannot be ended.
    await Promise.race([this.#worker.terminate(), sleep(agentEndMsMax, undefined, { ref: false })]);
  }

  #ask(request: BackupRequest): void {
    this.#worker.postMessage(request);
  }

  #begin(): Worker {
    const worker = new Worker(program, { workerData: this.#plan });
    this.#isAlive = true;
    worker.on('message', (event: BackupEvent) => {
      if (event.kind === 'looked') this.#endLook(event.found);
      else this.#status.handle(event);
    });
    worker.on('error', (error) =>
      this.#log.error('backup_agent_ended', { detail: (error as Error).message }),
    );
    worker.on('exit', () => {
      this.#isAlive = false;
      this.#status.runningSince = undefined;
      this.#endLook({ problem: ended });
      if (!this.#isStopping) setTimeout(() => this.#restart(), backupRetryMs).unref();
    });
    return worker;
  }

  #restart(): void {
    if (!this.#isStopping) this.#worker = this.#begin();
  }

  #endLook(found: BackupsFound): void {
    this.#look?.end(found);
    this.#look = undefined;
  }
}

const ended =
  'The thread that makes backups has ended, and is started again within minutes; the log says why (backup_agent_ended).';

export interface MonitorOptions {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly now: () => number;
}

/** Reports the agent's events to metrics and log, and remembers the running backup and the last failure. */
export class BackupMonitor {
  readonly #options: MonitorOptions;
  readonly #began: number;
  #isOwner = false;
  #logged: { readonly detail: string; readonly at: number } | undefined;
  /** When this process began the running backup, in milliseconds since 1970; undefined if none is running. */
  runningSince: number | undefined;
  /** The last failure of this process. */
  lastFailure: LastFailure | undefined;

  constructor(options: MonitorOptions) {
    this.#options = options;
    this.#began = options.now();
  }

  handle(event: BackupEvent): void {
    const { log, metrics, now } = this.#options;
    switch (event.kind) {
      case 'newest':
        this.#isOwner = true;
        // Without any backup, the age counts from the start, so that the alert fires.
        metrics.backup({ madeAt: event.madeAt ?? this.#began });
        break;
      case 'archived':
        metrics.backup({ archivedUpTo: event.upTo });
        break;
      case 'not_owner':
        this.#isOwner = false;
        metrics.backup(undefined);
        break;
      case 'chain':
        log.warn('backup_chain_begun', { detail: event.reason });
        break;
      case 'began':
        this.runningSince ??= now();
        break;
      case 'failed':
        this.#failed(event);
        break;
      case 'made':
        this.runningSince = undefined;
        // Another process that makes a backup on request would expose an age that only grows.
        if (this.#isOwner) metrics.backup({ madeAt: event.madeAt });
        log.info('backup_made', { detail: event.name });
        break;
      case 'looked':
        break;
    }
  }

  /** While a target cannot be reached, each round fails, and the log has one line a minute. */
  #failed({ what, code, message }: Extract<BackupEvent, { readonly kind: 'failed' }>): void {
    const { log, metrics, now } = this.#options;
    if (what === 'snapshot') this.runningSince = undefined;
    this.lastFailure = { at: now(), what, code, message };
    metrics.backupFailed(what);
    const detail = `${what}: ${message}`;
    if (this.#logged?.detail === detail && now() - this.#logged.at < failureLogMs) return;
    this.#logged = { detail, at: now() };
    log.error('backup_failed', { code, detail });
  }
}

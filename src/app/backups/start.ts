import { once } from 'node:events';
import { extname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Repeated } from '../../lifecycle.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { Settings } from '../../settings/schema.ts';
import { existingStore } from '../adapters.ts';
import { endShipping, openTarget } from '../backup-adapters.ts';
import { agentEndMsMax, agentStopMsMax, backupRetryMs, failureLogMs } from '../limits.ts';
import { type BackupNews, type BackupPlan, stopMessage } from './messages.ts';
import { scheduleOf } from './schedule.ts';

export interface BackupOptions {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly now: () => number;
}

const program = new URL(`./agent${extname(import.meta.url)}`, import.meta.url);

/** Starts what makes the backups of the settings; undefined if there are none. Throws SettingsError. */
export async function startBackups(
  settings: Settings,
  options: BackupOptions,
): Promise<Repeated | undefined> {
  const { target, schedule, continuous } = settings.backup;
  if (settings.store !== 'lmdb') return undefined;
  const file = existingStore(settings);
  if (continuous === undefined) await endShipping(file);
  if (target === undefined) return undefined;
  scheduleOf(schedule);
  // The thread loads it again; here a missing library or a wrong name ends the start.
  (await openTarget(settings, target)).close();
  const plan: BackupPlan = { file, backup: { ...settings.backup, target } };
  const status = new Status(options);
  let isStopping = false;
  let agent: Worker;
  const begin = () => {
    agent = new Worker(program, { workerData: plan });
    agent.on('message', (news: BackupNews) => status.take(news));
    agent.on('error', (error) =>
      options.log.error('backup_agent_ended', { detail: (error as Error).message }),
    );
    agent.on('exit', () => {
      if (!isStopping) setTimeout(begin, backupRetryMs).unref();
    });
  };
  begin();
  return {
    stop: async () => {
      isStopping = true;
      const ended = once(agent, 'exit').catch(() => undefined);
      agent.postMessage(stopMessage);
      if (agent.threadId > 0) await Promise.race([ended, sleep(agentStopMsMax, undefined, { ref: false })]);
      // A thread that waits for a folder on a network that is gone cannot be ended.
      await Promise.race([agent.terminate(), sleep(agentEndMsMax, undefined, { ref: false })]);
    },
  };
}

/** Passes what the agent does on to metrics and log. */
class Status {
  readonly #options: BackupOptions;
  readonly #began: number;
  #logged: { readonly detail: string; readonly at: number } | undefined;

  constructor(options: BackupOptions) {
    this.#options = options;
    this.#began = options.now();
  }

  take(news: BackupNews): void {
    const { log, metrics } = this.#options;
    // Without any backup the age grows from the start on, so that the alert fires.
    if (news.kind === 'newest') metrics.backup({ madeAt: news.madeAt ?? this.#began });
    else if (news.kind === 'shipped') metrics.backup({ shippedUpTo: news.upTo });
    else if (news.kind === 'not_owner') metrics.backup(undefined);
    else if (news.kind === 'chain') log.warn('backup_chain_begun', { detail: news.reason });
    else if (news.kind === 'failed') this.#failed(news);
    else {
      metrics.backup({ madeAt: news.madeAt });
      log.info('backup_made', { detail: news.name });
    }
  }

  /** While a target is away, each round fails: the log has one line a minute. */
  #failed({ what, code, message }: Extract<BackupNews, { readonly kind: 'failed' }>): void {
    const { log, metrics, now } = this.#options;
    metrics.backupFailed(what);
    const detail = `${what}: ${message}`;
    if (this.#logged?.detail === detail && now() - this.#logged.at < failureLogMs) return;
    this.#logged = { detail, at: now() };
    log.error('backup_failed', { code, detail });
  }
}

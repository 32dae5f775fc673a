import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import { failureLogMs } from '../limits.ts';
import type { LastFailure } from './adapters.ts';
import type { BackupNews } from './messages.ts';

export interface BackupOptions {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly now: () => number;
}

/** Passes what the agent does on to metrics and log, and remembers what runs and what failed last. */
export class BackupStatus {
  readonly #options: BackupOptions;
  readonly #began: number;
  #isOwner = false;
  #logged: { readonly detail: string; readonly at: number } | undefined;
  /** Since when this process makes a backup, in milliseconds since 1970; undefined if it makes none. */
  runningSince: number | undefined;
  /** Of this process. */
  lastFailure: LastFailure | undefined;

  constructor(options: BackupOptions) {
    this.#options = options;
    this.#began = options.now();
  }

  take(news: BackupNews): void {
    const { log, metrics, now } = this.#options;
    switch (news.kind) {
      case 'newest':
        this.#isOwner = true;
        // Without any backup the age grows from the start on, so that the alert fires.
        metrics.backup({ madeAt: news.madeAt ?? this.#began });
        break;
      case 'shipped':
        metrics.backup({ shippedUpTo: news.upTo });
        break;
      case 'not_owner':
        this.#isOwner = false;
        metrics.backup(undefined);
        break;
      case 'chain':
        log.warn('backup_chain_begun', { detail: news.reason });
        break;
      case 'began':
        this.runningSince ??= now();
        break;
      case 'failed':
        this.#failed(news);
        break;
      case 'made':
        this.runningSince = undefined;
        // A process that makes one on request would else expose an age that only grows.
        if (this.#isOwner) metrics.backup({ madeAt: news.madeAt });
        log.info('backup_made', { detail: news.name });
        break;
      case 'looked':
        break;
    }
  }

  /** While a target is away, each round fails: the log has one line a minute. */
  #failed({ what, code, message }: Extract<BackupNews, { readonly kind: 'failed' }>): void {
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

import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import { failureLogMs } from '../limits.ts';
import type { LastFailure } from './adapters.ts';
import type { BackupEvent } from './messages.ts';

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

  handle(event: BackupEvent): void {
    const { log, metrics, now } = this.#options;
    switch (event.kind) {
      case 'newest':
        this.#isOwner = true;
        // Without any backup the age grows from the start on, so that the alert fires.
        metrics.backup({ madeAt: event.madeAt ?? this.#began });
        break;
      case 'shipped':
        metrics.backup({ shippedUpTo: event.upTo });
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
        // A process that makes one on request would else expose an age that only grows.
        if (this.#isOwner) metrics.backup({ madeAt: event.madeAt });
        log.info('backup_made', { detail: event.name });
        break;
      case 'looked':
        break;
    }
  }

  /** While a target is away, each round fails: the log has one line a minute. */
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

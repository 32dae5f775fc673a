import { invalidRequest, ServiceError } from '../errors.ts';
import type { Period } from '../processors/processor.ts';
import { findProcessor, type PaymentContext } from './context.ts';
import {
  reconciledChargesMax,
  reconciledDifferencesMax,
  reconciledPeriodMsMax,
  reconciliationMsMax,
} from './limits.ts';
import { Comparison, type Difference, type ReconcileCounts } from './reconcile.ts';

/** A reconciliation whose differences HTTP callers read while it runs. */
export interface Reconciliation {
  readonly counts: ReconcileCounts;
  /** A sentence on why not everything was compared; undefined if everything was. */
  readonly unfinished: string | undefined;
  /**
   * Yields the differences as they are found. Rejects with `processor_error` if the processor's records cannot be read.
   * Call it once.
   */
  differences(): AsyncGenerator<Difference>;
  /** Ends the reconciliation, and lets the next one of the processor begin. Always call it. */
  end(): void;
}

export interface ReconciliationBounds {
  /** Each is the limit of the same name by default. */
  readonly reconciliationMsMax?: number;
  readonly reconciledChargesMax?: number;
  readonly reconciledDifferencesMax?: number;
}

/**
 * Compares our records with those of the processors for HTTP callers: one reconciliation at a time for each processor.
 */
export class Reconciliations {
  readonly #context: Pick<PaymentContext, 'engine' | 'processors'>;
  readonly #bounds: Required<ReconciliationBounds>;
  readonly #running = new Set<string>();
  readonly #stopping = new AbortController();

  constructor(context: Pick<PaymentContext, 'engine' | 'processors'>, bounds: ReconciliationBounds = {}) {
    this.#context = context;
    this.#bounds = { reconciliationMsMax, reconciledChargesMax, reconciledDifferencesMax, ...bounds };
  }

  /**
   * Throws `processor_not_found`, `processor_not_configured`, `reconciliation_running`, and `invalid_request` for an empty period or
   * one longer than `reconciledPeriodMsMax`.
   */
  begin(name: string, period: Period): Reconciliation {
    checkPeriod(period);
    const processor = findProcessor(this.#context, name);
    if (this.#running.has(name)) throw new ServiceError('reconciliation_running');
    this.#running.add(name);
    const comparison = new Comparison(this.#context, processor, period);
    const stopping = this.#stopping.signal;
    return new Running(comparison, this.#bounds, stopping, () => this.#running.delete(name));
  }

  /** Ends all reconciliations that run. */
  async stop(): Promise<void> {
    this.#stopping.abort();
  }
}

class Running implements Reconciliation {
  unfinished: string | undefined;
  readonly #comparison: Comparison;
  readonly #all: AsyncGenerator<Difference>;
  readonly #differencesMax: number;
  readonly #late: AbortSignal;
  readonly #aborted: AbortSignal;
  readonly #ending = new AbortController();
  readonly #ended: () => void;

  constructor(
    comparison: Comparison,
    bounds: Required<ReconciliationBounds>,
    stopping: AbortSignal,
    ended: () => void,
  ) {
    this.#comparison = comparison;
    this.#differencesMax = bounds.reconciledDifferencesMax;
    this.#late = AbortSignal.timeout(bounds.reconciliationMsMax);
    this.#aborted = AbortSignal.any([stopping, this.#late, this.#ending.signal]);
    this.#ended = ended;
    const chargesMax = bounds.reconciledChargesMax;
    this.#all = comparison.differences({ signal: this.#aborted, chargesMax });
  }

  get counts(): ReconcileCounts {
    return this.#comparison;
  }

  async *differences(): AsyncGenerator<Difference> {
    for (let found = 0; ; found++) {
      const next = await unless(this.#aborted, this.#all.next()).catch((cause: unknown) => {
        throw new ServiceError('processor_error', {
          message: 'The records of the processor cannot be read.',
          detail: (cause as Error).message,
          cause,
        });
      });
      const hasMore = next?.done === false;
      if (!hasMore || found >= this.#differencesMax) {
        this.unfinished = this.#whyUnfinished(hasMore);
        return;
      }
      yield next.value;
    }
  }

  end(): void {
    this.#ending.abort();
    // The next reconciliation waits until the current page of records is read, because this call still uses the
    // account.
    void this.#all.return(undefined).then(this.#ended, this.#ended);
  }

  #whyUnfinished(hasMore: boolean): string | undefined {
    if (hasMore) return words.tooManyDifferences;
    if (this.#late.aborted) return words.late;
    if (this.#aborted.aborted) return words.stopped;
    return this.#comparison.isWhole ? undefined : words.tooManyCharges;
  }
}

/** The result, or undefined if the signal aborts first. */
function unless<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result | undefined> {
  return new Promise((resolve, reject) => {
    const abort = () => resolve(undefined);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

function checkPeriod({ from, until }: Period): void {
  if (from >= until) throw invalidRequest('from', 'from must be before until.');
  if (until - from > reconciledPeriodMsMax)
    throw invalidRequest(
      'from',
      `The period has at most ${reconciledPeriodMsMax / 86_400_000} days; for a longer one, use counterfoil payments reconcile.`,
    );
}

const words = {
  late: 'The time was over before everything was compared; take a shorter period.',
  stopped: 'The service is stopping.',
  tooManyCharges: 'The period has too many charges; take a shorter one.',
  tooManyDifferences: 'There are more differences; take a shorter period.',
};

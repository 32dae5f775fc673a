import { ServiceError } from '../errors.ts';
import type { CommitOutcome, Metrics } from '../telemetry.ts';
import {
  CommitUnknown,
  type Engine,
  type Reads,
  type Rejection,
  type Scan,
  type ScanOptions,
  type Space,
  type SpaceFacts,
  type SpaceRemoval,
  type Write,
} from './engine.ts';
import { commitFailureReportedMs } from './limits.ts';

/** Wraps an engine: counts and times its commits, and remembers the last failure for a while. Reads pass through. */
export class ObservedEngine implements Engine {
  readonly reads: Reads;
  readonly #engine: Engine;
  readonly #metrics: Metrics;
  /** The last failure of the store in a commit; undefined if a commit has succeeded since. */
  #failure: { readonly error: ServiceError; readonly at: number } | undefined;

  constructor(engine: Engine, metrics: Metrics) {
    this.#engine = engine;
    this.#metrics = metrics;
    this.reads = engine.reads;
  }

  get(space: Space, id: string): Promise<string | undefined> {
    return this.#engine.get(space, id);
  }

  spaces(): Promise<readonly Space[]> {
    return this.#engine.spaces();
  }

  describe(space: Space): Promise<SpaceFacts | undefined> {
    return this.#engine.describe(space);
  }

  count(space: Space): Promise<number | undefined> {
    return this.#engine.count(space);
  }

  scan(space: Space, options?: ScanOptions): Promise<Scan | undefined> {
    return this.#engine.scan(space, options);
  }

  commit(writes: readonly Write[], caller?: string): Promise<Rejection | undefined> {
    return this.#observe(
      () => this.#engine.commit(writes, caller),
      (rejection) => rejection === undefined,
    );
  }

  removeSpace(space: Space): Promise<SpaceRemoval> {
    return this.#observe(
      () => this.#engine.removeSpace(space),
      (removal) => removal === 'removed' || removal === 'kept',
    );
  }

  async #observe<Result>(
    commit: () => Promise<Result>,
    isMade: (result: Result) => boolean,
  ): Promise<Result> {
    const began = performance.now();
    this.#metrics.commitsInFlight(1);
    let outcome: CommitOutcome = 'failed';
    try {
      const result = await commit();
      outcome = isMade(result) ? 'committed' : 'rejected';
      this.#failure = undefined;
      return result;
    } catch (error) {
      outcome = outcomeLabel(error);
      if (outcome === 'storage_full' || outcome === 'unavailable')
        this.#failure = { error: error as ServiceError, at: performance.now() };
      throw error;
    } finally {
      this.#metrics.commitsInFlight(-1);
      this.#metrics.commit(outcome, performance.now() - began);
    }
  }

  /** A recent failed commit is the best evidence; without one, ask the engine. */
  async checkWritable(): Promise<void> {
    if (this.#failure !== undefined && performance.now() - this.#failure.at < commitFailureReportedMs)
      throw this.#failure.error;
    await this.#engine.checkWritable();
  }

  close(): Promise<void> {
    return this.#engine.close();
  }
}

function outcomeLabel(error: unknown): CommitOutcome {
  if (error instanceof CommitUnknown) return 'unknown';
  if (!(error instanceof ServiceError)) return 'failed';
  const { code } = error;
  return code === 'overloaded' || code === 'storage_full' || code === 'unavailable' ? code : 'failed';
}

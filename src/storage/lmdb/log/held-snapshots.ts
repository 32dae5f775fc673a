import { statSync } from 'node:fs';
import { snapshotBoundedAfterMs, snapshotGrowthBytesMax, snapshotSweepMs } from '../limits.ts';

export interface SnapshotBounds {
  /** How far the file may grow while a snapshot is held, in bytes. The default is `snapshotGrowthBytesMax`. */
  readonly growthBytesMax?: number | undefined;
  /** How long a snapshot is held whatever the growth, in milliseconds. The default is `snapshotBoundedAfterMs`. */
  readonly boundedAfterMs?: number | undefined;
  /** Called for each snapshot that is ended because of these bounds. */
  readonly ended?: (() => void) | undefined;
}

interface Held {
  readonly since: number;
  readonly fileBytes: number;
  readonly end: () => void;
}

/**
 * The snapshots of long reads in this process. The store cannot reuse the pages that a snapshot may still read, so during
 * updates the file grows as long as one is held. A snapshot that has been held for some seconds ends when the file has grown
 * too much since it began, by whichever process.
 */
export class HeldSnapshots {
  readonly #file: string;
  readonly #growthBytesMax: number;
  readonly #boundedAfterMs: number;
  readonly #ended: () => void;
  readonly #held = new Set<Held>();
  #sweeps: NodeJS.Timeout | undefined;

  constructor(file: string, bounds: SnapshotBounds = {}) {
    this.#file = file;
    this.#growthBytesMax = bounds.growthBytesMax ?? snapshotGrowthBytesMax;
    this.#boundedAfterMs = bounds.boundedAfterMs ?? snapshotBoundedAfterMs;
    this.#ended = bounds.ended ?? (() => undefined);
  }

  /**
   * @param end frees the snapshot, and makes the rest of its read fail
   * @returns a function to call when the read has freed the snapshot itself
   */
  hold(end: () => void): () => void {
    const held = { since: performance.now(), fileBytes: this.#fileBytes(), end };
    this.#held.add(held);
    this.#sweeps ??= setInterval(
      () => this.#sweep(),
      Math.min(snapshotSweepMs, this.#boundedAfterMs),
    ).unref();
    return () => {
      this.#held.delete(held);
      if (this.#held.size === 0) this.#stop();
    };
  }

  #sweep(): void {
    const fileBytes = this.#fileBytes();
    const before = performance.now() - this.#boundedAfterMs;
    for (const held of this.#held) {
      if (held.since > before || fileBytes - held.fileBytes <= this.#growthBytesMax) continue;
      this.#ended();
      held.end();
    }
  }

  #stop(): void {
    clearInterval(this.#sweeps);
    this.#sweeps = undefined;
  }

  /** 0 if the file is gone: what is in memory of it stays readable. */
  #fileBytes(): number {
    return statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0;
  }
}

import { randomBytes } from 'node:crypto';
import type { Engine, Space, Write } from '../../storage/engine.ts';
import { itemsOf } from '../../storage/item-text.ts';
import { driverBeatMs, driverSilenceMsMax } from '../limits.ts';

const space: Space = 'service:drivers';

/**
 * Which processes drive charges, and whether they still live. While a process drives any, its entry in
 * `service:drivers` counts up; a driver whose entry has stood still for `driverSilenceMsMax` is taken for dead, and
 * what it drove may be taken over. Only the time that this process has itself watched counts, so that no clock need
 * agree with another. A driver that merely slept does no harm: the processor's key and the record's state keep two
 * from doing the same thing twice.
 */
export class Drivers {
  /** This process among the drivers. */
  readonly self = randomBytes(9).toString('base64url');
  readonly #engine: Engine;
  readonly #silenceMsMax: number;
  /** By driver: its entry as last seen, and since when. */
  readonly #seen = new Map<string, { readonly count: string; readonly since: number }>();
  readonly #driven = new Set<string>();
  #count = 0;
  #beat: NodeJS.Timeout | undefined;
  #lastBeat: Promise<unknown> = Promise.resolve();

  constructor(engine: Engine, silenceMsMax: number = driverSilenceMsMax) {
    this.#engine = engine;
    this.#silenceMsMax = silenceMsMax;
  }

  /** Drives a charge or a refund: until that is done, this process tells that it lives. @param id of its marker */
  async drive<Result>(id: string, work: () => Promise<Result>): Promise<Result> {
    this.#driven.add(id);
    this.#beat ??= setInterval(() => this.#tell(), driverBeatMs);
    try {
      return await work();
    } finally {
      this.#driven.delete(id);
      if (this.#driven.size === 0) {
        clearInterval(this.#beat);
        this.#beat = undefined;
      }
    }
  }

  #tell(): void {
    // A beat that does not come through is the silence that it is.
    this.#lastBeat = this.#lastBeat.then(() => this.#write(String(++this.#count))).catch(() => undefined);
  }

  async #write(value: string): Promise<void> {
    const write = { space, id: this.self, value } as const;
    const refusal = await this.#engine.commit([{ kind: 'replace', ...write }]);
    if (refusal !== undefined) await this.#engine.commit([{ kind: 'create', ...write, makeSpace: true }]);
  }

  /** Looks at all drivers; `hasLetGo` then tells of them. To be called before each round of taking over. */
  async watch(): Promise<void> {
    const now = performance.now();
    const scan = await this.#engine.scan(space);
    for await (const { id, name: count } of itemsOf(scan?.chunks ?? [])) {
      if (this.#seen.get(id)?.count !== count) this.#seen.set(id, { count, since: now });
    }
  }

  /**
   * Whether a driver does not drive this any more: this process has done with it, another one is silent.
   *
   * @param knownSince since when this process knows that the driver drives it, as `performance.now()` tells; a driver
   *   that had nothing to drive before had no reason to tell that it lives
   */
  hasLetGo(driver: string, id: string, knownSince: number): boolean {
    if (driver === this.self) return !this.#driven.has(id);
    const since = Math.max(knownSince, this.#seen.get(driver)?.since ?? knownSince);
    return performance.now() - since >= this.#silenceMsMax;
  }

  /** Forgets, here and in the store, those long silent. @param holding drivers that still stand on something */
  async forgetOthers(holding: ReadonlySet<string>): Promise<void> {
    const gone = [...this.#seen].filter(
      ([driver, { since }]) =>
        driver !== this.self && !holding.has(driver) && performance.now() - since > 10 * this.#silenceMsMax,
    );
    for (const [driver] of gone) {
      this.#seen.delete(driver);
      await this.#engine.commit([{ kind: 'delete', space, id: driver } satisfies Write]);
    }
  }

  /** Nothing is driven any more. */
  async close(): Promise<void> {
    clearInterval(this.#beat);
    await this.#lastBeat;
    if (this.#count > 0) await this.#engine.commit([{ kind: 'delete', space, id: this.self }]);
  }
}

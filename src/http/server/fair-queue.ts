/**
 * Time that one turn of the event loop spends on requests; the rest wait for the next turn. Node.js accepts one connection per
 * turn, so a turn must be short; each also costs some ten microseconds, so it must not be shorter than many small requests.
 */
export const turnMsMax = 10;
/**
 * While connections arrive, each address is served once in this time. A thousand connections are accepted in it, and it is well
 * below what a caller notices.
 */
const acceptFirstMsMax = 100;
/** Work on a body of this size takes about as long as the rest of a small request: it waits for its turn. */
export const queuedBodyBytesMin = 16 * 1024;

/** Limits of one queue. The defaults are the constants of the same names. */
export interface QueueBounds {
  readonly turnMsMax?: number | undefined;
  readonly acceptFirstMsMax?: number | undefined;
}

type Work = () => void;

/**
 * Shares the turns of the event loop among the addresses of callers. Node.js accepts one connection per turn, so that a new
 * connection waits as many turns as there are connections before it. Three rules keep that wait short:
 *
 * - A turn spends at most `turnMsMax` on requests. The rest wait for the next turn.
 * - Waiting addresses are served in rotation, one request each, so that an address with a thousand requests delays another
 *   address by one request.
 * - While connections arrive, each address is served once. Thus connections leave the queue of the system, which is first come,
 *   first served, for this one, which is fair. This ends with the first turn without a new connection, or after
 *   `acceptFirstMsMax`.
 */
export class FairQueue {
  readonly #bounds: Required<{ readonly [Bound in keyof QueueBounds]: number }>;
  /** The waiting work of each address, oldest first. The address that is next comes first. */
  readonly #waiting = new Map<string, Work[]>();
  /** When the first request of this turn arrived, in milliseconds of `performance.now()`; 0 before it. */
  #turnBegan = 0;
  #willEndTurn = false;
  /** In this turn, and in the one before. */
  #hasAccepted = false;
  #hadAccepted = false;
  /** Since when each address is served only once, because connections arrive; 0 otherwise. */
  #acceptingSince = 0;
  /** The addresses that were served since then. */
  readonly #served = new Set<string>();

  constructor(bounds: QueueBounds = {}) {
    this.#bounds = {
      turnMsMax: bounds.turnMsMax ?? turnMsMax,
      acceptFirstMsMax: bounds.acceptFirstMsMax ?? acceptFirstMsMax,
    };
  }

  /** Call it for each accepted connection. */
  noteConnection(): void {
    this.#hasAccepted = true;
    if (this.#acceptingSince === 0) this.#acceptingSince = performance.now();
    this.#endTurnLater();
  }

  /** Whether connections arrive: this turn or the one before has accepted one. */
  get isAccepting(): boolean {
    return this.#hasAccepted || this.#hadAccepted;
  }

  /**
   * When this turn began: everything that arrives in a turn has waited since then.
   *
   * @param now milliseconds of `performance.now()`
   */
  turnBegan(now: number): number {
    if (this.#turnBegan === 0) {
      this.#turnBegan = now;
      this.#endTurnLater();
    }
    return this.#turnBegan;
  }

  /** Whether work may be done at once: nothing waits, no connections arrive, and the turn has time left. */
  isFree(now: number): boolean {
    if (this.#waiting.size > 0 || this.#acceptingSince > 0) return false;
    return now - this.turnBegan(now) <= this.#bounds.turnMsMax;
  }

  /** Does the work when it is the turn of the address. */
  add(address: string, work: Work): void {
    const works = this.#waiting.get(address);
    if (works === undefined) this.#waiting.set(address, [work]);
    else works.push(work);
    this.#endTurnLater();
  }

  /** Does the work on a body: a small one at once, a larger one when it is the turn of the address. */
  addForBody(address: string, bytes: number, work: Work): void {
    if (bytes < queuedBodyBytesMin) work();
    else this.add(address, work);
  }

  /** Resolves when it is the turn of the address. Call it before work of more than a millisecond. */
  turn(address: string): Promise<void> {
    return new Promise((resolve) => this.add(address, resolve));
  }

  #endTurnLater(): void {
    if (this.#willEndTurn) return;
    this.#willEndTurn = true;
    setImmediate(this.#endTurn);
  }

  readonly #endTurn = () => {
    this.#willEndTurn = false;
    this.#turnBegan = 0;
    const now = performance.now();
    if (!this.#hasAccepted || now - this.#acceptingSince > this.#bounds.acceptFirstMsMax) {
      this.#acceptingSince = 0;
      this.#served.clear();
    }
    this.#hadAccepted = this.#hasAccepted;
    this.#hasAccepted = false;
    if (this.#waiting.size > 0) this.#serveUntil(now + this.#bounds.turnMsMax);
    if (this.#waiting.size > 0 || this.isAccepting) this.#endTurnLater();
  };

  #serveUntil(end: number): void {
    const address = this.#nextAddress();
    if (address === undefined) return;
    this.#take(address)();
    // The promises that the work has settled run first: their time belongs to this work.
    queueMicrotask(() =>
      process.nextTick(() => {
        if (performance.now() < end) this.#serveUntil(end);
      }),
    );
  }

  #nextAddress(): string | undefined {
    if (this.#acceptingSince === 0) return this.#waiting.keys().next().value;
    for (const address of this.#waiting.keys()) if (!this.#served.has(address)) return address;
    return undefined;
  }

  #take(address: string): Work {
    const works = this.#waiting.get(address) as Work[];
    const work = works.shift() as Work;
    this.#waiting.delete(address);
    if (works.length > 0) this.#waiting.set(address, works);
    if (this.#acceptingSince > 0) this.#served.add(address);
    return work;
  }
}

import { LRUCache } from 'lru-cache';
import { countedNetworks } from '../addresses.ts';
import { ServiceError } from '../errors.ts';
import { errorFields, type Log } from '../log.ts';
import type { Sealer } from '../secrets/sealer.ts';
import type { Engine, Write } from '../storage/engine.ts';
import { Records } from '../storage/records.ts';
import type { Outcome } from './charge/outcome.ts';
import {
  countedAddressesMax,
  declinesOfNetworkFactor,
  declinesPerDayFactor,
  declinesPerHourDefault,
} from './limits.ts';
import { buyerAddressPlace, type Payment } from './payment.ts';

const hourMs = 60 * 60 * 1_000;
const dayMs = 24 * hourMs;

/**
 * The times at which the two buckets of an address will be full again, in milliseconds since 1970, as in
 * `access/limits/rate-limit.ts`. A bucket whose time has passed is full.
 */
interface Standing {
  readonly hour: number;
  readonly day: number;
}

/** A change of the counts. It is part of the commit that decides about the card, so each card counts exactly once. */
export interface CountChange {
  /** The engine rejects them if a count has changed meanwhile. Then request the change again. */
  readonly writes: readonly Write[];
  /** Call it after the commit. */
  readonly committed: () => void;
}

/**
 * The new time at which a bucket is full, computed from the old one.
 *
 * @param stepMs the time in which it regains one card
 */
type Step = (fullAt: number, stepMs: number) => number;

export interface CardTestingLimiterOptions {
  readonly engine: Engine;
  /** Declined cards per hour from one address. Per day, four times as many are allowed. 0 means no limit. */
  readonly perHour?: number | undefined;
  /** How old the cached count may be, in milliseconds; 0 if reading the store costs nothing. */
  readonly cachedMs: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Limits the cards that one address tries: a person mistypes twice, but a thief tests hundreds of cards. A card counts
 * when it is declined. It also counts when its bank requires authentication, because that too shows that the card
 * exists; the count is taken back when the cardholder has authenticated. The counts are in the store, so that all
 * processes share them. Only the buyer's address is counted: one buyer must not block a shop, and another key must not
 * unblock an address.
 */
export class CardTestingLimiter {
  readonly #options: CardTestingLimiterOptions;
  readonly #standings: Records<Standing>;
  readonly #perHour: number;
  readonly #cached: LRUCache<string, Standing>;

  constructor(options: CardTestingLimiterOptions) {
    this.#options = options;
    this.#standings = new Records(options.engine, 'declines');
    this.#perHour = options.perHour ?? declinesPerHourDefault;
    this.#cached = new LRUCache({ max: countedAddressesMax, ttl: Math.max(1, options.cachedMs) });
  }

  /** Throws `rate_limited` if the address has tried too many cards. Nothing is reserved then. */
  async check(address: string): Promise<void> {
    if (this.#perHour === 0) return;
    const now = this.#options.now();
    for (const { id, factor } of countedNetworks(address, declinesOfNetworkFactor)) {
      const waitMs = this.#waitMs(await this.#standing(id), factor, now);
      if (waitMs > 0) throw tooMany(waitMs);
    }
  }

  /** Counts one card. */
  count(address: string): Promise<CountChange> {
    const now = this.#options.now();
    return this.#changeAll(address, (fullAt, stepMs) => Math.max(fullAt, now) + stepMs);
  }

  /**
   * Takes back one `count`, because the cardholder has authenticated the payment. A bucket that has regained the card
   * by itself meanwhile does not get it a second time. Otherwise open challenges would give an address more cards than
   * its limit.
   *
   * @param countedAt when the card was counted, or earlier, in milliseconds since 1970
   */
  giveBack(address: string, countedAt: number): Promise<CountChange> {
    const elapsedMs = this.#options.now() - countedAt;
    return this.#changeAll(address, (fullAt, stepMs) => (elapsedMs < stepMs ? fullAt - stepMs : fullAt));
  }

  /** Whether this is a write of a `CountChange`. */
  isCount(write: Write): boolean {
    return write.space === this.#standings.space;
  }

  /** Deletes the counts of addresses whose buckets are full. */
  sweep(signal: AbortSignal): Promise<void> {
    const now = this.#options.now();
    return this.#standings.sweep(({ hour, day }) => Math.max(hour, day) <= now, signal);
  }

  async #changeAll(address: string, step: Step): Promise<CountChange> {
    const networks = this.#perHour === 0 ? [] : countedNetworks(address, declinesOfNetworkFactor);
    const changes = await Promise.all(networks.map(({ id, factor }) => this.#change(id, factor, step)));
    return {
      writes: changes.map(({ write }) => write),
      committed: () => {
        if (this.#options.cachedMs > 0)
          for (const { write, after } of changes) this.#cached.set(write.id, after);
      },
    };
  }

  async #standing(id: string): Promise<Standing> {
    const { cachedMs } = this.#options;
    const cached = cachedMs === 0 ? undefined : this.#cached.get(id);
    if (cached !== undefined) return cached;
    const standing = (await this.#standings.get(id)) ?? none;
    if (cachedMs > 0) this.#cached.set(id, standing);
    return standing;
  }

  async #change(id: string, factor: number, step: Step) {
    const before = await this.#standings.find(id);
    const { hour, day } = before?.value ?? none;
    const quota = this.#perHour * factor;
    const after: Standing = {
      hour: step(hour, hourMs / quota),
      day: step(day, dayMs / (quota * declinesPerDayFactor)),
    };
    return { write: this.#standings.saving(id, before, after), after };
  }

  #waitMs({ hour, day }: Standing, factor: number, now: number): number {
    const quota = this.#perHour * factor;
    return Math.max(
      hour + hourMs / quota - now - hourMs,
      day + dayMs / (quota * declinesPerDayFactor) - now - dayMs,
    );
  }
}

const none: Standing = { hour: 0, day: 0 };

function tooMany(waitMs: number): ServiceError {
  return new ServiceError('rate_limited', {
    message:
      'Too many cards from this address were declined or wait for their cardholders; try again later. Nothing was charged.',
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
  });
}

/** What counting the cards of settled charges needs. */
export interface CardCounts {
  readonly sealer: Pick<Sealer, 'open'>;
  readonly cardTesting: Pick<CardTestingLimiter, 'count' | 'giveBack' | 'isCount'>;
  readonly log: Log;
}

/**
 * The change that a step of a charge makes to the count of its buyer's address. Every outcome passes through here,
 * whether it comes from the charge itself, from recovery, an event or a look-up.
 */
export async function countChange(
  context: CardCounts,
  before: Payment,
  after: Payment,
  outcome: Outcome,
): Promise<CountChange> {
  const effect = effectOn(before, after, outcome);
  const address = effect === 'none' ? undefined : buyerAddress(context, before);
  if (address === undefined) return unchanged;
  if (effect === 'counts') return context.cardTesting.count(address);
  return context.cardTesting.giveBack(address, Date.parse(before.createdAt));
}

const unchanged: CountChange = { writes: [], committed: () => undefined };

function effectOn(before: Payment, after: Payment, outcome: Outcome): 'counts' | 'is given back' | 'none' {
  const hasChallenge = before.state === 'requires_action';
  if (after.state === 'succeeded') return hasChallenge ? 'is given back' : 'none';
  if (hasChallenge) return 'none';
  if (after.state === 'requires_action') return 'counts';
  return after.state === 'declined' && countsAsCardTest(outcome) ? 'counts' : 'none';
}

/**
 * Whether a charge has ended because its card is declined or invalid. @param outcome the outcome of this process's
 * request
 */
export function isDeclinedCard({ state, declineCode }: Payment, outcome: Outcome): boolean {
  return state === 'declined' && (declineCode !== undefined || countsAsCardTest(outcome));
}

function countsAsCardTest(outcome: Outcome): boolean {
  if (outcome.kind === 'canceled') return outcome.declined !== undefined;
  return outcome.kind === 'declined' || (outcome.kind === 'rejected' && outcome.param === 'token');
}

/** The record's field with the address whose cards are counted; empty if there is no address. */
export function sealedBuyerAddress(
  { sealer }: { readonly sealer: Pick<Sealer, 'sealWithSharedKey'> },
  paymentId: string,
  address: string | undefined,
): Pick<Payment, 'sealedBuyerAddress'> {
  if (address === undefined) return {};
  return { sealedBuyerAddress: sealer.sealWithSharedKey(address, buyerAddressPlace(paymentId)) };
}

/**
 * The address whose cards are counted. If it cannot be decrypted, nothing is counted, and the charge ends all the same.
 */
function buyerAddress(
  { sealer, log }: CardCounts,
  { id, sealedBuyerAddress: sealed }: Payment,
): string | undefined {
  try {
    return sealed === undefined ? undefined : sealer.open(sealed, buyerAddressPlace(id));
  } catch (error) {
    log.warn('card_not_counted', { payment_id: id, ...errorFields(error) });
    return undefined;
  }
}

import { randomBytes } from 'node:crypto';
import { Journal, type Shelf } from './journal.ts';
import type { Charge, Intent, Refund, StripeRecords } from './objects.ts';
import { outOfOrder, type Reply } from './replies.ts';
import type { Script } from './script.ts';
import { scriptOf, wordOfToken } from './scripts.ts';

/** Settings that a test can change at any time. */
export interface Switches {
  /** Replies arrive, and the scripted faults end; stored replies stay the same. */
  readonly isRepaired: boolean;
  /** Every request gets a 429 before anything else is checked. */
  readonly turnsAway: boolean;
  /** Requests are accepted, not executed, and get no response. */
  readonly holds: boolean;
  /** The lead of Stripe's clock over the machine's. */
  readonly aheadMs: number;
  /** How long a change is missing from the search. */
  readonly searchLagMs: number;
  /** The account has no search. */
  readonly rejectsSearch: boolean;
  /** The first page of every list succeeds, and the pages after it fail. */
  readonly failsLaterPages: boolean;
  /** The id of the account. */
  readonly account: string;
  /** The secret key that it accepts. */
  readonly key: string;
  /** Every look-up fails with a server error. */
  readonly rejectsReads: boolean;
  /** Every cancellation of an intent fails with a server error. */
  readonly failsCancels: boolean;
  /**
   * What becomes of requests for an intent without a card, which fence the key of a charge. `fails`: an error while it is processed,
   * which is stored under the key; `fails after`: the same, and the intent was made; `gateway`: an error before Stripe processes it,
   * which is not stored; `dropped`: it is processed, and the connection closes without a reply.
   */
  readonly fences: 'work' | 'fail' | 'fail after' | 'gateway' | 'dropped';
}

/** The secret key that it accepts at first. */
export const secretKey = 'sk_test_scripted';

const atFirst: Switches = {
  isRepaired: false,
  turnsAway: false,
  holds: false,
  aheadMs: 0,
  searchLagMs: 0,
  rejectsSearch: false,
  failsLaterPages: false,
  account: 'acct_scripted',
  key: secretKey,
  rejectsReads: false,
  failsCancels: false,
  fences: 'work',
};

export interface Scripted<Item> {
  readonly item: Item;
  readonly word: string;
  readonly changedAt: number;
}

/** The first request with an idempotency key, and its reply; no reply while it is processed. */
export interface StoredKey {
  readonly asked: string;
  readonly at: number;
  readonly reply?: Reply;
}

/** The data and the clock of a scripted Stripe. */
export class StripeLedger {
  readonly #journal: Journal;
  readonly #switches: Shelf<Switches>;
  readonly #waiting = new Set<() => void>();
  readonly intents: Shelf<Scripted<Intent>>;
  readonly charges: Shelf<Scripted<Charge>>;
  readonly refunds: Shelf<Refund>;
  /** The word of the token of each PaymentMethod. */
  readonly methods: Shelf<string>;
  readonly usedTokens: Shelf<true>;
  readonly keys: Shelf<StoredKey>;
  /** Idempotency keys of a pair of faults whose first request has arrived. */
  readonly arrivals: Shelf<true>;

  /** @param folder stores the data that must outlive the process */
  constructor(folder?: string) {
    this.#journal = new Journal(folder);
    this.#switches = this.#journal.shelf('switches');
    this.intents = this.#journal.shelf('intents');
    this.charges = this.#journal.shelf('charges');
    this.refunds = this.#journal.shelf('refunds');
    this.methods = this.#journal.shelf('methods');
    this.usedTokens = this.#journal.shelf('used tokens');
    this.keys = this.#journal.shelf('keys');
    this.arrivals = this.#journal.shelf('arrivals');
    // A request that a kill interrupted has failed, and its reply is an error.
    for (const [key, stored] of this.keys.entries()) {
      if (stored.reply === undefined) this.keys.put(key, { ...stored, reply: outOfOrder() });
    }
    this.write();
  }

  get switches(): Switches {
    return this.#switches.get('') ?? atFirst;
  }

  set(switches: Partial<Switches>): void {
    this.#switches.put('', { ...this.switches, ...switches });
    if (this.switches.isRepaired) for (const goOn of this.#waiting) goOn();
    this.write();
  }

  now(): number {
    return Date.now() + this.switches.aheadMs;
  }

  seconds(): number {
    return Math.floor(this.now() / 1_000);
  }

  /** Resolves after `repair`. */
  async repaired(): Promise<void> {
    if (this.switches.isRepaired) return;
    this.write();
    await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  /** Writes the journal. Call it before a reply is sent. */
  write(): void {
    this.#journal.write();
  }

  /** The word that scripts a token or a PaymentMethod. */
  wordOf(token: string): string {
    return this.methods.get(token) ?? wordOfToken(token);
  }

  /** The script without what `repair` has ended. */
  scriptOf(word: string): Script | undefined {
    const script = scriptOf(word);
    if (script?.passes !== true || !this.switches.isRepaired) return script;
    const { error: _error, methodError: _methodError, refundError: _refundError, ...lasting } = script;
    return lasting;
  }

  putIntent(item: Intent, word: string): Intent {
    this.intents.put(item.id, { item, word, changedAt: this.now() });
    return item;
  }

  putCharge(item: Charge, word: string): Charge {
    this.charges.put(item.id, { item, word, changedAt: this.now() });
    return item;
  }

  records(): StripeRecords {
    return {
      intents: this.intents.values().map(({ item }) => item),
      charges: this.charges.values().map(({ item }) => item),
      refunds: this.refunds.values(),
    };
  }
}

export function newId(prefix: string): string {
  return `${prefix}_3${randomBytes(12).toString('hex')}`;
}

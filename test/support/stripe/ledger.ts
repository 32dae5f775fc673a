import { randomBytes } from 'node:crypto';
import { Journal, type Shelf } from './journal.ts';
import type { Charge, Intent, Refund, StripeRecords } from './objects.ts';
import { outOfOrder, type Reply } from './replies.ts';
import type { Script } from './script.ts';
import { scriptOf, wordOfToken } from './scripts.ts';

/** What a test can set, at any time. */
export interface Switches {
  /** Replies arrive, and the scripted faults of service are over; what was answered stays answered. */
  readonly isRepaired: boolean;
  /** Everybody is answered 429 before anything is looked at. */
  readonly turnsAway: boolean;
  /** Requests are taken, not carried out, and nobody is answered. */
  readonly holds: boolean;
  /** How far Stripe's clock is ahead of the machine's. */
  readonly aheadMs: number;
  /** How long the search does not yet know of what has happened. */
  readonly searchLagMs: number;
  /** The account is one of those that cannot search. */
  readonly rejectsSearch: boolean;
  /** Of every list the first page is given, and those after it fail. */
  readonly failsLaterPages: boolean;
  /** Whose books these are. */
  readonly account: string;
}

const atFirst: Switches = {
  isRepaired: false,
  turnsAway: false,
  holds: false,
  aheadMs: 0,
  searchLagMs: 0,
  rejectsSearch: false,
  failsLaterPages: false,
  account: 'acct_scripted',
};

export interface Scripted<Item> {
  readonly item: Item;
  readonly word: string;
  readonly changedAt: number;
}

/** What was asked first with an idempotency key, and what was answered; no reply while it is being worked on. */
export interface StoredKey {
  readonly asked: string;
  readonly at: number;
  readonly reply?: Reply;
}

/** What a Stripe has done and remembers, and its clock. */
export class StripeLedger {
  readonly #journal: Journal;
  readonly #switches: Shelf<Switches>;
  readonly #waiting = new Set<() => void>();
  readonly intents: Shelf<Scripted<Intent>>;
  readonly charges: Shelf<Scripted<Charge>>;
  readonly refunds: Shelf<Refund>;
  /** The word of the token that a PaymentMethod was made of. */
  readonly methods: Shelf<string>;
  readonly usedTokens: Shelf<true>;
  readonly keys: Shelf<StoredKey>;
  /** Idempotency keys of a pair of faults whose first request has arrived. */
  readonly arrivals: Shelf<true>;

  /** @param folder holds what must outlive the process */
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
    // What a process that was killed was working on failed, and is answered as that.
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

  /** Resolves when it is repaired. */
  async repaired(): Promise<void> {
    if (this.switches.isRepaired) return;
    this.write();
    await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  /** Before anything is answered. */
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

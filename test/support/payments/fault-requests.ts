import { setTimeout as sleep } from 'node:timers/promises';
import { between, pick, type Random } from '../random.ts';
import { singleUseTokenOf } from '../stripe/scripted-stripe.ts';
import { tryToSend } from '../try-to-send.ts';
import type { Ending, FaultWord } from './fault-words.ts';

/** What one idempotency key was answered. */
export interface Ask {
  /** By status, the different bodies of the answers after which a caller asks no more. */
  readonly finals: Map<number, Set<string>>;
  /** The last answer of those after which a caller asks again. */
  pending: string;
  /** How many answers there were. */
  answered: number;
}

export interface FaultOrder extends Ask {
  readonly key: string;
  /** Unlike any other order's, so that its charges can be told apart by it. */
  readonly amount: number;
  readonly token: string;
  readonly ending: Ending;
  /** Where the payment is told, when it has succeeded. */
  at: string | undefined;
  /** Asked for when the payment has succeeded. */
  readonly refund: FaultRefund | undefined;
}

export interface FaultRefund extends Ask {
  readonly amount: number;
  readonly ending: FaultWord['refund'];
}

/** Whether a caller asks once more after so many answers that are none, for what is to end so. */
export type GoesOn = (answered: number, ending: FaultWord['refund']) => boolean;

/** Which tokens can be used once: all, or some of those whose first call to Stripe goes well. */
export type SingleUse = 'all' | 'some';

const path = '/stage/payment/stripe/charge';

export function newOrder(
  random: Random,
  number: number,
  words: readonly FaultWord[],
  singleUse: SingleUse,
): FaultOrder {
  const { word, charge: ending, refund } = pick(random, words);
  const amount = 1_000 + number;
  const mayBeOnce = !word.startsWith('method') && ending !== 'turned away';
  const isOnce = singleUse === 'all' || (random() < 0.4 && mayBeOnce);
  const isRefunded = ending === 'done' && (word.startsWith('refund') || random() < 0.3);
  // Less than half, so that Stripe would make it a second time too.
  const refundAmount = between(random, 1, Math.floor(amount / 2) - 1);
  return {
    ...newAsk(),
    key: `order-${number}`,
    amount,
    token: isOnce ? singleUseTokenOf(word) : `tok_${word}`,
    ending,
    at: undefined,
    refund: isRefunded ? { ...newAsk(), amount: refundAmount, ending: refund } : undefined,
  };
}

function newAsk(): Ask {
  return { finals: new Map(), pending: '', answered: 0 };
}

/** A caller that does as the documentation says: the same request with the same key, until there is an answer. */
export class FaultCaller {
  readonly #random: Random;
  readonly #origin: () => string;
  readonly #authorization: string;
  /** How many requests brought no answer. */
  lost = 0;

  /** @param origin where the service listens now */
  constructor(random: Random, origin: () => string, authorization: string) {
    this.#random = random;
    this.#origin = origin;
    this.#authorization = authorization;
  }

  /** @returns whether nothing is left to ask for */
  async pursue(order: FaultOrder, goesOn: GoesOn, patienceMs: number): Promise<boolean> {
    const pay = () => this.pay(order, patienceMs);
    if (!(await this.#untilFinal(order, goesOn, pay))) return false;
    const { refund } = order;
    if (refund === undefined || !order.finals.has(200)) return true;
    return this.#untilFinal(refund, goesOn, () => this.refund(order, patienceMs));
  }

  async #untilFinal(ask: FaultOrder | FaultRefund, goesOn: GoesOn, send: () => Promise<void>) {
    const answeredBefore = ask.answered;
    while (ask.finals.size === 0) {
      if (!goesOn(ask.answered - answeredBefore, ask.ending)) return false;
      // A caller who is in a hurry asks twice.
      await Promise.all(Array.from({ length: this.#random() < 0.15 ? 2 : 1 }, send));
      if (ask.finals.size === 0) await sleep(20 + this.#random() * 100);
    }
    return true;
  }

  async pay(order: FaultOrder, patienceMs: number): Promise<void> {
    const { amount, token, key } = order;
    const answer = await this.#send(path, { amount, currency: 'EUR', token }, key, order, patienceMs);
    if (answer?.status === 200) order.at = answer.headers.get('location') ?? undefined;
  }

  async refund(order: FaultOrder, patienceMs: number): Promise<void> {
    if (order.refund === undefined) return;
    const body = { amount: order.refund.amount };
    await this.#send(`${order.at}/refund`, body, 'refund-1', order.refund, patienceMs);
  }

  async #send(to: string, body: unknown, key: string, ask: Ask, patienceMs: number) {
    const answer = await tryToSend(this.#origin() + to, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'idempotency-key': key,
        authorization: this.#authorization,
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(patienceMs),
    });
    if (answer === undefined) {
      this.lost++;
      return undefined;
    }
    ask.answered++;
    const { status, text } = answer;
    if (isRetryable(text)) ask.pending = `${status} ${text}`;
    else ask.finals.set(status, (ask.finals.get(status) ?? new Set<string>()).add(text));
    return answer;
  }
}

function isRetryable(text: string): boolean {
  return text.includes('"retryable":true');
}

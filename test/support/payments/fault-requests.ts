import { setTimeout as sleep } from 'node:timers/promises';
import { between, pick, type Random } from '../random.ts';
import { singleUseTokenOf } from '../stripe/scripted-stripe.ts';
import { tryToSend } from '../try-to-send.ts';
import type { Ending, FaultWord } from './fault-words.ts';

/** The responses to one idempotency key. */
export interface Responses {
  /** The different bodies of the final responses, by status: a caller does not retry them. */
  readonly finals: Map<number, Set<string>>;
  /** The last retryable response. */
  pending: string;
  /** The number of responses. */
  responseCount: number;
}

export interface FaultCharge extends Responses {
  readonly key: string;
  /** Unique, so that it identifies the charges of this request. */
  readonly amount: number;
  readonly token: string;
  readonly ending: Ending;
  /** The location of the payment, once it has succeeded. */
  at: string | undefined;
  /** Requested once the payment has succeeded. */
  readonly refund: FaultRefund | undefined;
}

export interface FaultRefund extends Responses {
  readonly amount: number;
  readonly ending: FaultWord['refund'];
}

/** Whether a caller retries after so many retryable responses. `ending` is the expected outcome. */
export type GoesOn = (responseCount: number, ending: FaultWord['refund']) => boolean;

/** Which tokens are single-use: all, or some of those whose first call to Stripe succeeds. */
export type SingleUse = 'all' | 'some';

const path = '/stage/payment/stripe/charge';

export function newCharge(
  random: Random,
  number: number,
  words: readonly FaultWord[],
  singleUse: SingleUse,
): FaultCharge {
  const { word, charge: ending, refund } = pick(random, words);
  const amount = 1_000 + number;
  const mayBeOnce = !word.startsWith('method') && ending !== 'turned away';
  const isOnce = singleUse === 'all' || (random() < 0.4 && mayBeOnce);
  const isRefunded = ending === 'done' && (word.startsWith('refund') || random() < 0.3);
  // Less than half of the amount, so that Stripe would accept a second refund.
  const refundAmount = between(random, 1, Math.floor(amount / 2) - 1);
  return {
    ...noResponses(),
    key: `order-${number}`,
    amount,
    token: isOnce ? singleUseTokenOf(word) : `tok_${word}`,
    ending,
    at: undefined,
    refund: isRefunded ? { ...noResponses(), amount: refundAmount, ending: refund } : undefined,
  };
}

function noResponses(): Responses {
  return { finals: new Map(), pending: '', responseCount: 0 };
}

/** A caller that follows the documentation: it repeats a request with the same key until the response is final. */
export class FaultCaller {
  readonly #random: Random;
  readonly #origin: () => string;
  readonly #authorization: string;
  /** The number of requests without a response. */
  lost = 0;

  /** @param origin returns the origin at which the service listens now */
  constructor(random: Random, origin: () => string, authorization: string) {
    this.#random = random;
    this.#origin = origin;
    this.#authorization = authorization;
  }

  /** @returns whether all responses are final */
  async pursue(charge: FaultCharge, goesOn: GoesOn, patienceMs: number): Promise<boolean> {
    const pay = () => this.pay(charge, patienceMs);
    if (!(await this.#untilFinal(charge, goesOn, pay))) return false;
    const { refund } = charge;
    if (refund === undefined || !charge.finals.has(200)) return true;
    return this.#untilFinal(refund, goesOn, () => this.refund(charge, patienceMs));
  }

  async #untilFinal(responses: FaultCharge | FaultRefund, goesOn: GoesOn, send: () => Promise<void>) {
    const countBefore = responses.responseCount;
    while (responses.finals.size === 0) {
      if (!goesOn(responses.responseCount - countBefore, responses.ending)) return false;
      // An impatient caller sends the request twice.
      await Promise.all(Array.from({ length: this.#random() < 0.15 ? 2 : 1 }, send));
      if (responses.finals.size === 0) await sleep(20 + this.#random() * 100);
    }
    return true;
  }

  async pay(charge: FaultCharge, patienceMs: number): Promise<void> {
    const { amount, token, key } = charge;
    const response = await this.#send(path, { amount, currency: 'EUR', token }, key, charge, patienceMs);
    if (response?.status === 200) charge.at = response.headers.get('location') ?? undefined;
  }

  async refund(charge: FaultCharge, patienceMs: number): Promise<void> {
    if (charge.refund === undefined) return;
    const body = { amount: charge.refund.amount };
    await this.#send(`${charge.at}/refund`, body, 'refund-1', charge.refund, patienceMs);
  }

  async #send(to: string, body: unknown, key: string, responses: Responses, patienceMs: number) {
    const response = await tryToSend(this.#origin() + to, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'idempotency-key': key,
        authorization: this.#authorization,
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(patienceMs),
    });
    if (response === undefined) {
      this.lost++;
      return undefined;
    }
    responses.responseCount++;
    const { status, text } = response;
    if (isRetryable(text)) responses.pending = `${status} ${text}`;
    else responses.finals.set(status, (responses.finals.get(status) ?? new Set<string>()).add(text));
    return response;
  }
}

function isRetryable(text: string): boolean {
  return text.includes('"retryable":true');
}

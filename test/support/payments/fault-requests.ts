import { setTimeout as sleep } from 'node:timers/promises';
import { between, pick, type Random } from '../random.ts';
import { singleUseTokenOf } from '../stripe/scripted-stripe.ts';
import { tryToSend } from '../try-to-send.ts';
import type { Ending, FaultWord } from './fault-words.ts';

/** What one idempotency key was answered. */
export interface Responses {
  /** By status, the different bodies of the answers after which a caller asks no more. */
  readonly finalResponses: Map<number, Set<string>>;
  /** The last answer of those after which a caller asks again. */
  pending: string;
  /** How many answers there were. */
  responseCount: number;
}

export interface FaultCharge extends Responses {
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

export interface FaultRefund extends Responses {
  readonly amount: number;
  readonly ending: FaultWord['refund'];
}

/** Whether a caller asks once more after so many answers that are none, for what is to end so. */
export type GoesOn = (responseCount: number, ending: FaultWord['refund']) => boolean;

/** Which tokens can be used once: all, or some of those whose first call to Stripe goes well. */
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
  // Less than half, so that Stripe would make it a second time too.
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
  return { finalResponses: new Map(), pending: '', responseCount: 0 };
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
  async pursue(charge: FaultCharge, goesOn: GoesOn, patienceMs: number): Promise<boolean> {
    const pay = () => this.pay(charge, patienceMs);
    if (!(await this.#untilFinal(charge, goesOn, pay))) return false;
    const { refund } = charge;
    if (refund === undefined || !charge.finalResponses.has(200)) return true;
    return this.#untilFinal(refund, goesOn, () => this.refund(charge, patienceMs));
  }

  async #untilFinal(responses: FaultCharge | FaultRefund, goesOn: GoesOn, send: () => Promise<void>) {
    const responseCountBefore = responses.responseCount;
    while (responses.finalResponses.size === 0) {
      if (!goesOn(responses.responseCount - responseCountBefore, responses.ending)) return false;
      // A caller who is in a hurry asks twice.
      await Promise.all(Array.from({ length: this.#random() < 0.15 ? 2 : 1 }, send));
      if (responses.finalResponses.size === 0) await sleep(20 + this.#random() * 100);
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
    else
      responses.finalResponses.set(
        status,
        (responses.finalResponses.get(status) ?? new Set<string>()).add(text),
      );
    return response;
  }
}

function isRetryable(text: string): boolean {
  return text.includes('"retryable":true');
}

import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import type { TestContext } from 'node:test';

/**
 * A small Stripe over real HTTP, for as much of it as one charge needs: form-encoded requests, Stripe's statuses
 * and error shapes, idempotency keys that are answered once (500s included, as Stripe's documentation says), and
 * card tokens that can be used once. What becomes of a charge is scripted by the words of its token: `tok_paid`,
 * `tok_insufficient_funds`, `tok_dropped_after_charging` … (the whole list is `scripts`).
 */
export interface ScriptedStripe {
  readonly origin: string;
  /** The secret key that it takes. */
  readonly key: string;
  /** Every request that reached it, also those it refused. */
  readonly requests: readonly StripeRequest[];
  /** The money that has moved. */
  readonly charges: readonly StripeCharge[];
  /** While true, everybody is answered 429 before anything is looked at. */
  turnsAway: boolean;
  /** While true, requests are taken and nobody is answered. */
  holds: boolean;
  /** From now on replies arrive, and the scripted faults of service are over; what was answered stays answered. */
  repair(): void;
}

export interface StripeRequest {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** Nested fields by their form name: `card[token]`. */
  readonly fields: Readonly<Record<string, string>>;
}

export interface StripeCharge {
  readonly chargeId: string;
  readonly paymentId: string;
  readonly amount: number;
  readonly currency: string;
}

interface Reply {
  readonly status: number;
  readonly body: unknown;
}

/** What a word does: decline, refuse, fail before or after the charge, or spoil the delivery of the reply. */
interface Script {
  readonly error?: Reply;
  readonly methodError?: Reply;
  readonly charges?: boolean;
  readonly delivery?: {
    readonly of: 'method' | 'intent';
    readonly fault: 'dropped' | 'dropped late' | 'held';
  };
  /** Whether `repair` ends it. */
  readonly passes?: boolean;
}

export const singleUseToken = 'tok_1NZkQ82eZvKYlo2C0aBcDeFg';
export const droppedLateAfterMs = 250;

const outOfOrder = error(500, 'api_error', { message: 'An unknown error occurred' });
const scripts: Readonly<Record<string, Script>> = {
  paid: { charges: true },
  visa: { charges: true },
  mastercard_debit: { charges: true },
  insufficient_funds: { error: declined('card_declined', 'insufficient_funds') },
  expired_card: { error: declined('expired_card') },
  authentication_required: { error: declined('authentication_required', 'authentication_required') },
  method_declined: { methodError: declined('card_declined', 'insufficient_funds') },
  amount_too_small: {
    error: invalid({ code: 'amount_too_small', param: 'amount' }),
  },
  rate_limited: { error: error(429, 'invalid_request_error', { code: 'rate_limit' }), passes: true },
  bad_key: { error: error(401, 'invalid_request_error', { message: 'Invalid API Key provided' }) },
  key_in_use: { error: error(409, 'idempotency_error', { code: 'idempotency_key_in_use' }), passes: true },
  error_after_charging: { charges: true, error: outOfOrder },
  error_before_charging: { error: outOfOrder },
  dropped_after_charging: { charges: true, delivery: { of: 'intent', fault: 'dropped' } },
  declined_and_dropped: {
    error: declined('card_declined', 'insufficient_funds'),
    delivery: { of: 'intent', fault: 'dropped' },
  },
  dropped_late: { charges: true, delivery: { of: 'intent', fault: 'dropped late' } },
  never_answers: { charges: true, delivery: { of: 'intent', fault: 'held' } },
  method_error: { charges: true, methodError: outOfOrder, passes: true },
  method_dropped: { charges: true, delivery: { of: 'method', fault: 'dropped' } },
  method_never_answers: { charges: true, delivery: { of: 'method', fault: 'held' } },
};

/** Starts it on a free port; stopped after the test. */
export async function startScriptedStripe(t: TestContext): Promise<ScriptedStripe> {
  const stripe = new Scripted();
  await stripe.listen();
  t.after(() => stripe.close());
  return stripe;
}

class Scripted implements ScriptedStripe {
  readonly key = 'sk_test_scripted';
  readonly requests: StripeRequest[] = [];
  readonly charges: StripeCharge[] = [];
  turnsAway = false;
  holds = false;
  #repaired = false;
  #droppedLate = 0;
  readonly #server: Server = createServer((request, response) => void this.#serve(request, response));
  /** By idempotency key: what was asked first, and the answer. */
  readonly #answered = new Map<string, { readonly asked: string; readonly reply: Reply }>();
  readonly #wordsByMethod = new Map<string, string>();
  readonly #usedTokens = new Set<string>();

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  repair(): void {
    this.#repaired = true;
    this.turnsAway = false;
    this.holds = false;
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    const fields = Object.fromEntries(new URLSearchParams(await readText(request)));
    this.requests.push({ path, headers: request.headers, fields });
    if (this.holds) return;
    const reply = this.#answer({ path, headers: request.headers, fields });
    const word = this.#wordOf(fields);
    const { delivery } = scripts[word] ?? {};
    const concerned = delivery?.of === (path === '/v1/payment_methods' ? 'method' : 'intent');
    if (concerned && !this.#repaired && reply.status !== 429) {
      if (delivery.fault === 'dropped') request.socket.destroy();
      // Once late, and from then on never: what a retry of the caller's library adds to the wait shows.
      if (delivery.fault === 'dropped late' && this.#droppedLate++ === 0)
        setTimeout(() => request.socket.destroy(), droppedLateAfterMs);
      return;
    }
    const headers = {
      'content-type': 'application/json',
      'request-id': `req_${randomBytes(7).toString('hex')}`,
    };
    response.writeHead(reply.status, headers).end(JSON.stringify(reply.body));
  }

  #answer(request: StripeRequest): Reply {
    const { path, headers, fields } = request;
    if (this.turnsAway) return error(429, 'invalid_request_error', { code: 'rate_limit' });
    if (headers.authorization !== `Bearer ${this.key}`)
      return error(401, 'invalid_request_error', { message: 'Invalid API Key provided' });
    if (headers['content-type'] !== 'application/x-www-form-urlencoded' || !headers['stripe-version'])
      return invalid({ message: 'Not a form, or without Stripe-Version' });
    const key = headers['idempotency-key'];
    if (typeof key !== 'string') return this.#execute(path, fields);
    const asked = JSON.stringify([path, fields]);
    const before = this.#answered.get(key);
    if (before !== undefined) {
      return before.asked === asked
        ? before.reply
        : error(400, 'idempotency_error', { message: 'Key reused' });
    }
    const reply = this.#execute(path, fields);
    // Stripe keeps what an endpoint has begun to carry out: not what it refused at the door or for its parameters.
    if (![400, 401, 404, 409, 429].includes(reply.status)) this.#answered.set(key, { asked, reply });
    return reply;
  }

  #execute(path: string, fields: StripeRequest['fields']): Reply {
    if (path === '/v1/payment_methods') return this.#makeMethod(fields);
    if (path === '/v1/payment_intents') return this.#makeIntent(fields);
    return error(404, 'invalid_request_error', { message: `Unrecognized request URL (POST: ${path})` });
  }

  #makeMethod(fields: StripeRequest['fields']): Reply {
    const token = fields['card[token]'] ?? '';
    if (fields.type !== 'card') return invalid({ param: 'type' });
    const word = this.#wordOf(fields);
    const { methodError, passes = false } = scripts[word] ?? {};
    if (scripts[word] === undefined) return invalid({ code: 'resource_missing', param: 'card[token]' });
    if (methodError !== undefined && !(passes && this.#repaired)) return methodError;
    if (this.#usedTokens.has(token)) return invalid({ code: 'token_already_used', param: 'card[token]' });
    if (isSingleUse(token)) this.#usedTokens.add(token);
    const id = newId('pm');
    this.#wordsByMethod.set(id, word);
    return { status: 200, body: { id, object: 'payment_method', type: 'card' } };
  }

  #makeIntent(fields: StripeRequest['fields']): Reply {
    const paymentId = fields['metadata[counterfoil_payment_id]'];
    const { amount = '', currency = '', confirm } = fields;
    const script = scripts[this.#wordOf(fields)];
    if (paymentId === undefined) return invalid({ param: 'metadata' });
    if (script === undefined) return invalid({ code: 'resource_missing', param: 'payment_method' });
    if (!/^[1-9]\d{0,7}$/.test(amount)) return invalid({ param: 'amount' });
    if (!/^[a-z]{3}$/.test(currency)) return invalid({ param: 'currency' });
    const fails = script.error !== undefined && !(script.passes && this.#repaired);
    if (confirm !== 'true') {
      return { status: 200, body: { object: 'payment_intent', status: 'requires_confirmation' } };
    }
    const chargeId = newId('ch');
    if (script.charges || !fails)
      this.charges.push({ chargeId, paymentId, amount: Number(amount), currency });
    if (fails) return script.error;
    const intent = { id: newId('pi'), object: 'payment_intent', status: 'succeeded', amount: Number(amount) };
    return { status: 200, body: { ...intent, currency, latest_charge: chargeId } };
  }

  /** The word that scripts a request: that of its token, or of the token its payment method was made of. */
  #wordOf(fields: StripeRequest['fields']): string {
    const token = fields['card[token]'] ?? fields.payment_method ?? '';
    if (isSingleUse(token)) return 'paid';
    return this.#wordsByMethod.get(token) ?? token.replace(/^(tok|pm)_(card_)?/, '');
  }
}

function isSingleUse(token: string): boolean {
  return /^tok_1[A-Za-z0-9]{23}$/.test(token);
}

function newId(prefix: string): string {
  return `${prefix}_3${randomBytes(12).toString('hex')}`;
}

function invalid(fields: Readonly<Record<string, string>>): Reply {
  return error(400, 'invalid_request_error', fields);
}

function declined(code: string, declineCode?: string): Reply {
  const why = declineCode === undefined ? {} : { decline_code: declineCode };
  return error(402, 'card_error', { code, ...why });
}

function error(status: number, type: string, fields: Readonly<Record<string, string>>): Reply {
  return { status, body: { error: { type, message: `${fields.code ?? 'The request'} failed.`, ...fields } } };
}

import { newId, type StripeLedger } from './ledger.ts';
import type { Charge, Intent } from './objects.ts';
import { failed, given, impossible, invalid, outOfOrder, type Reply } from './replies.ts';
import { type Fields, metadataOf } from './request.ts';
import type { Script } from './script.ts';
import { declineReply, isSingleUse } from './scripts.ts';

/** `POST /v1/payment_methods`, which uses up a single-use token. */
export async function makeMethod(ledger: StripeLedger, fields: Fields): Promise<Reply> {
  const token = fields['card[token]'] ?? '';
  const word = ledger.wordOf(token);
  const script = ledger.scriptOf(word);
  if (fields.type !== 'card') return invalid({ param: 'type' });
  if (script === undefined) return invalid({ code: 'resource_missing', param: 'card[token]' });
  if (script.methodError !== undefined) return script.methodError;
  if (script.methodDecline !== undefined) return declineReply(script.methodDecline);
  if (ledger.usedTokens.get(token)) return impossible({ code: 'token_already_used', param: 'card[token]' });
  if (isSingleUse(token)) ledger.usedTokens.put(token, true);
  const id = newId('pm');
  ledger.methods.put(id, word);
  return given({ id, object: 'payment_method', type: 'card' });
}

/** `POST /v1/payment_intents` */
export async function makeIntent(ledger: StripeLedger, fields: Fields): Promise<Reply> {
  const { amount = '', currency = '', confirm, payment_method: method = '' } = fields;
  const word = ledger.wordOf(method);
  const isCardless = method === '' && confirm !== 'true';
  const script = isCardless ? {} : ledger.scriptOf(word);
  if (!/^[1-9]\d{0,7}$/.test(amount)) return invalid({ param: 'amount' });
  if (!/^[a-z]{3}$/.test(currency)) return invalid({ param: 'currency' });
  if (script === undefined) return invalid({ code: 'resource_missing', param: 'payment_method' });
  if (script.error?.isUnprocessed) return script.error;
  if (script.error !== undefined && isNothingDone(script)) return script.error;
  const { fences } = ledger.switches;
  if (isCardless && fences === 'fail') return outOfOrder();
  if (isCardless && fences === 'gateway') return { ...outOfOrder(503), isUnprocessed: true };
  if (script.isQueued) await ledger.repaired();
  const intent = ledger.putIntent(newIntent(ledger, fields), word);
  if (confirm !== 'true') return isCardless && fences === 'fail after' ? outOfOrder() : given(intent);
  // While a request is processed, the list shows what it has created so far.
  if (script.isWorkedOn) await ledger.repaired();
  if (script.requiresAction) return challenged(ledger, intent, word, fields);
  return confirmed(ledger, intent, word, script);
}

/** Stripe sends the cardholder to `return_url`; `error_on_requires_action` fails the attempt instead. */
function challenged(ledger: StripeLedger, intent: Intent, word: string, fields: Fields): Reply {
  const { return_url, error_on_requires_action } = fields;
  if (error_on_requires_action === 'true') {
    const decline = { code: 'authentication_required', decline_code: 'authentication_required' };
    return declineReply(decline, { payment_intent: decide(ledger, intent, word, { decline }) });
  }
  if (return_url === undefined) return invalid({ param: 'return_url' });
  const url = `https://hooks.stripe.com/redirect/authenticate/${intent.id}`;
  return given(
    ledger.putIntent(
      {
        ...intent,
        status: 'requires_action',
        client_secret: `${intent.id}_secret_${intent.id.slice(-8)}`,
        next_action: { type: 'redirect_to_url', redirect_to_url: { url, return_url } },
      },
      word,
    ),
  );
}

/** What the bank says of a cardholder: a failed authentication leaves the intent open for another card. */
export function authenticate(ledger: StripeLedger, id: string, isCardholder: boolean): void {
  const found = ledger.intents.get(id);
  if (found === undefined) throw new RangeError(`there is no intent ${id}`);
  const { item, word } = found;
  const isOpen = item.status === 'requires_action' || item.status === 'requires_payment_method';
  if (!isOpen) throw new RangeError(`the intent is ${item.status}`);
  const decline = { code: 'payment_intent_authentication_failure' };
  decide(ledger, { ...item, next_action: null }, word, isCardholder ? {} : { decline });
}

function isNothingDone({ charges, decline, leaves }: Script): boolean {
  return !charges && decline === undefined && leaves === undefined;
}

function newIntent(ledger: StripeLedger, fields: Fields): Intent {
  return {
    id: newId('pi'),
    object: 'payment_intent',
    amount: Number(fields.amount),
    amount_received: 0,
    currency: fields.currency ?? '',
    status: 'requires_confirmation',
    created: ledger.seconds(),
    metadata: metadataOf(fields),
    latest_charge: null,
    last_payment_error: null,
    payment_method: fields.payment_method ?? null,
  };
}

function confirmed(ledger: StripeLedger, intent: Intent, word: string, script: Script): Reply {
  if (script.leaves === 'requires_confirmation') return script.error ?? given(intent);
  if (script.leaves === 'processing') {
    return given(ledger.putIntent({ ...intent, status: 'processing' }, word));
  }
  const { amount } = { ...intent, ...script.takes };
  const decided = decide(ledger, { ...intent, amount }, word, script);
  if (script.error !== undefined) return script.error;
  if (script.decline === undefined) return given(decided);
  return declineReply(script.decline, { payment_intent: decided, charge: decided.latest_charge });
}

function decide(ledger: StripeLedger, intent: Intent, word: string, { decline }: Script): Intent {
  // There is no charge before the cardholder has authenticated.
  const isCharged = decline === undefined || !/authentication/.test(decline.code);
  const latest_charge = isCharged ? newCharge(ledger, intent, word, decline === undefined).id : null;
  if (decline === undefined) {
    const { amount: amount_received } = intent;
    return ledger.putIntent({ ...intent, status: 'succeeded', amount_received, latest_charge }, word);
  }
  const last_payment_error = { type: 'card_error', message: 'The card was declined.', ...decline };
  const status = 'requires_payment_method';
  return ledger.putIntent(
    { ...intent, status, latest_charge, last_payment_error, payment_method: null },
    word,
  );
}

function newCharge(ledger: StripeLedger, intent: Intent, word: string, isPaid: boolean): Charge {
  const { amount, currency, metadata, id } = intent;
  const charge: Charge = {
    id: newId('ch'),
    object: 'charge',
    amount,
    amount_refunded: 0,
    currency,
    status: isPaid ? 'succeeded' : 'failed',
    captured: isPaid,
    created: ledger.seconds(),
    metadata,
    payment_intent: id,
  };
  return ledger.putCharge(charge, word);
}

/** `POST /v1/payment_intents/:id/cancel` (https://docs.stripe.com/api/payment_intents/cancel) */
export function cancelIntent(ledger: StripeLedger, id: string): Reply {
  const found = ledger.intents.get(id);
  if (found === undefined)
    return failed(404, 'invalid_request_error', { code: 'resource_missing', param: 'intent' });
  const { item, word } = found;
  if (ledger.switches.failsCancels) return outOfOrder();
  if (item.status === 'succeeded' || item.status === 'canceled')
    return failed(400, 'invalid_request_error', { code: 'payment_intent_unexpected_state' });
  return given(ledger.putIntent({ ...item, status: 'canceled' }, word));
}

/** Decides the intents in `processing`, as a bank that responds late does. */
export function decideProcessing(ledger: StripeLedger): void {
  for (const { item, word } of ledger.intents.values()) {
    if (item.status === 'processing') decide(ledger, item, word, ledger.scriptOf(word) ?? {});
  }
}

/** Makes charges of another system on the same account. */
export function othersCharge(ledger: StripeLedger, count: number): void {
  for (let made = 0; made < count; made++) {
    const intent = ledger.putIntent(newIntent(ledger, { amount: '100', currency: 'eur' }), 'paid');
    decide(ledger, intent, 'paid', {});
  }
}

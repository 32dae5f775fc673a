import type { ServerResponse } from 'node:http';
import type { StripeLedger } from './ledger.ts';
import type { Reply } from './replies.ts';
import type { StripeRequest } from './request.ts';
import type { Call, Fault, Script } from './script.ts';

/** Longer than the half second of tolerance for a busy machine, so that a test detects a second wait of this length. */
export const droppedLateAfterMs = 700;
export const delayedByMs = 300;

const calls: Readonly<Record<string, Call>> = {
  '/v1/payment_methods': 'method',
  '/v1/payment_intents': 'intent',
  '/v1/refunds': 'refund',
};

/** The effect of the word of a request on the delivery of its reply, until `repair`. */
export function spoilingOf(
  ledger: StripeLedger,
  { method, path, fields }: StripeRequest,
): { readonly fault?: Fault; readonly pair?: NonNullable<Script['pair']> } {
  const of = calls[path];
  if (method !== 'POST' || of === undefined || ledger.switches.isRepaired) return {};
  const token = fields['card[token]'] ?? fields.payment_method ?? '';
  if (of === 'intent' && token === '' && ledger.switches.fences === 'dropped') return { fault: 'dropped' };
  const word = of === 'refund' ? ledger.charges.get(fields.charge ?? '')?.word : ledger.wordOf(token);
  const { delivery, pair } = ledger.scriptOf(word ?? '') ?? {};
  return {
    ...(delivery?.of === of ? { fault: delivery.fault } : {}),
    ...(pair?.of === of ? { pair } : {}),
  };
}

export function send(
  response: ServerResponse,
  reply: Reply,
  headers: Readonly<Record<string, string>>,
): void {
  const body = Buffer.from(JSON.stringify(reply.body));
  response
    .writeHead(reply.status, {
      'content-type': 'application/json',
      'content-length': body.length,
      ...headers,
    })
    .end(body);
}

/** Sends the spoiled reply; a held reply is never sent. */
export function spoil(response: ServerResponse, reply: Reply, fault: Fault): void {
  const { socket } = response;
  const body = JSON.stringify(reply.body);
  if (fault === 'dropped') socket?.destroy();
  if (fault === 'reset') socket?.resetAndDestroy();
  if (fault === 'dropped late') setTimeout(() => socket?.destroy(), droppedLateAfterMs);
  if (fault === 'delayed') setTimeout(() => send(response, reply, {}), delayedByMs);
  if (fault === 'malformed') response.writeHead(200, { 'content-type': 'application/json' }).end('{"id": "p');
  if (fault === 'cut') {
    response.writeHead(reply.status, { 'content-type': 'application/json', 'content-length': body.length });
    response.write(body.slice(0, body.length / 2), () => socket?.resetAndDestroy());
  }
}

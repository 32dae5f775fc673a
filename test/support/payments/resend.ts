import http, { type ClientRequest } from 'node:http';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';

/**
 * Preloaded into a service (`node --import`), it adds a hidden retry: a POST to the processor whose connection is reset
 * before a response is sent once more, and the service sees only the second response. It patches the transport, so
 * that it works with every client.
 */
const processor = new URL(process.env.COUNTERFOIL_STRIPE_API_BASE ?? 'https://api.stripe.com').host;
const codesOfReset: readonly unknown[] = ['ECONNRESET', 'EPIPE'];

type Send = (...args: unknown[]) => ClientRequest;
type Patched = { request: Send };

for (const module of [http, https] as unknown as Patched[]) {
  const send = module.request;
  module.request = (...args) => {
    const request = send(...args);
    const isToProcessor = request.method === 'POST' && request.getHeader('host') === processor;
    // The first request already has the callback for the response.
    const sendAgain = () => send(...args.filter((each) => typeof each !== 'function'));
    return isToProcessor ? sentAgainAfterReset(request, sendAgain) : request;
  };
}
syncBuiltinESMExports();

/** The first request. If it is repeated, it emits the events of the second one. */
function sentAgainAfterReset(first: ClientRequest, sendAgain: () => ClientRequest): ClientRequest {
  const body: Buffer[] = [];
  const { write, end, emit, destroy } = first as unknown as Record<string, (...args: unknown[]) => unknown>;
  const on = (method: typeof write, args: unknown[]) => method?.apply(first, args);
  const keep = (chunk: unknown) => {
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) body.push(Buffer.from(chunk));
  };
  let second: ClientRequest | undefined;
  let isOver = false;
  const resend = () => {
    second = sendAgain();
    for (const [name, value] of Object.entries(first.getHeaders())) second.setHeader(name, value ?? '');
    for (const event of ['response', 'error', 'timeout', 'close'])
      second.on(event, (...args) => on(emit, [event, ...args]));
    second.end(Buffer.concat(body));
  };
  return Object.assign(first, {
    write: (...args: unknown[]) => {
      keep(args[0]);
      return on(write, args);
    },
    end: (...args: unknown[]) => {
      keep(args[0]);
      return on(end, args);
    },
    destroy: (...args: unknown[]) => {
      isOver = true;
      second?.destroy(args[0] as Error | undefined);
      return on(destroy, args);
    },
    emit: (event: string, ...args: unknown[]) => {
      const { code } = (args[0] ?? {}) as { code?: unknown };
      const isReset = event === 'error' && codesOfReset.includes(code) && !isOver;
      if (event === 'response') isOver = true;
      if (second !== undefined) return false;
      if (!isReset) return on(emit, [event, ...args]);
      resend();
      return true;
    },
  });
}

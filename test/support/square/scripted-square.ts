import type { TestContext } from 'node:test';
import { type SquareCharge, SquareLedger, type SquareRefund, type SquareSwitches } from './ledger.ts';
import type { SquareRequest } from './request.ts';
import { accessToken, SquareServer } from './server.ts';

export { signedDelivery, squareEvent } from './events.ts';
export { singleUseNonce, tokensOfPairs } from './scripts.ts';

/**
 * A small Square over real HTTP, for as much of it as payments and refunds need, made from Square's public API
 * reference (https://developer.squareup.com/reference/square): JSON, a bearer token, lists of errors, idempotency keys
 * in the body, single-use nonces, and paged lists that may lag behind. The word of a token scripts the outcome of its
 * payment and refunds: `cnon:paid`, `cnon:insufficient-funds`, `cnon:dropped-after-charging` …
 * (`square/scripts.ts` has the whole list).
 */
export interface ScriptedSquare {
  readonly origin: string;
  /** The access token that it accepts. */
  readonly accessToken: string;
  /** Every request that reached it, including rejected ones. */
  readonly requests: readonly SquareRequest[];
  /** The payments that succeeded. */
  readonly charges: readonly SquareCharge[];
  /** The refunds that are completed or pending. */
  readonly refunds: readonly SquareRefund[];
  readonly switches: SquareSwitches;
  /** From now on replies arrive, and the scripted faults end; stored replies stay the same. */
  repair(): void;
  /** Sets the status of a payment or refund, as Square does later. */
  settle(chargeId: string, status: string): void;
  /** Adds a payment of another system or of an earlier attempt. */
  addPayment(fields: Record<string, unknown>): string;
  /** Adds a refund that was made on Square's own dashboard. */
  addRefund(chargeId: string, fields: Record<string, unknown>): string;
}

/** Starts it on a free port; stopped after the test. */
export async function startScriptedSquare(t: TestContext): Promise<ScriptedSquare> {
  const server = new SquareServer(new SquareLedger());
  await server.listen();
  t.after(() => server.close());
  return handleOf(server);
}

function handleOf(server: SquareServer): ScriptedSquare {
  const { ledger, origin, requests } = server;
  return {
    origin,
    accessToken,
    requests,
    get charges() {
      return ledger.charges;
    },
    get refunds() {
      return ledger.refunds;
    },
    switches: ledger.switches,
    repair: () => server.repair(),
    settle: (id, status) => ledger.settle(id, status),
    addPayment: (fields) => ledger.addPayment(fields),
    addRefund: (chargeId, fields) => ledger.addRefund(chargeId, fields),
  };
}

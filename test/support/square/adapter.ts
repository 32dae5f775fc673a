import type { TestContext } from 'node:test';
import type { ConnectedProcessor, SoughtCharge } from '../../../src/processors/processor.ts';
import { type SquareSettings, squareProcessor } from '../../../src/processors/square/square.ts';
import type { RefundFixture } from '../../contracts/processor-refunds.ts';
import type { ResendFixture } from '../../contracts/processor-resends.ts';
import { type ScriptedSquare, startScriptedSquare, tokensOfPairs } from './scripted-square.ts';

/** The Square adapter, and the scripted Square that it calls. */
export interface SquareWithAdapter {
  readonly square: ScriptedSquare;
  readonly processor: ConnectedProcessor;
}

export async function openSquare(
  t: TestContext,
  settings: Partial<SquareSettings> = {},
): Promise<SquareWithAdapter> {
  const square = await startScriptedSquare(t);
  const { accessToken, origin: apiBase } = square;
  const processor = await squareProcessor({
    accessToken,
    apiBase,
    webhookKeys: [],
    listLagMs: 20,
    ...settings,
  });
  return { square, processor };
}

export async function squareResendFixture(t: TestContext): Promise<ResendFixture> {
  const opened = await openSquare(t);
  const arrivedAt = (path: string) =>
    opened.square.requests.filter((request) => request.method === 'POST' && request.path === path).length;
  return {
    ...fixtureOf(opened),
    lostThenRejected: { charges: tokensOfPairs('payment'), refunds: tokensOfPairs('refund') },
    arrivals: () => ({ charges: arrivedAt('/v2/payments'), refunds: arrivedAt('/v2/refunds') }),
  };
}

export async function squareFixture(t: TestContext): Promise<RefundFixture> {
  return fixtureOf(await openSquare(t));
}

function fixtureOf({ square, processor }: SquareWithAdapter): RefundFixture {
  return {
    processor,
    charges: () => square.charges,
    refunds: () => square.refunds,
    repair: () => square.repair(),
    refundReplyLost: 'cnon:refund-dropped',
    tokens: {
      paid: 'cnon:paid',
      declined: 'cnon:insufficient-funds',
      authenticationRequired: 'cnon:verification-required',
      unknown: 'cnon:unknown',
      turnedAway: 'cnon:rate-limited',
      replyLost: 'cnon:dropped-after-charging',
      neverReplies: 'cnon:never-replies',
    },
  };
}

export function soughtOf(paymentId: string): SoughtCharge {
  return {
    paymentId,
    requestedFrom: Date.now() - 60_000,
    requestedUntil: Date.now() + 60_000,
    timeoutMs: 5_000,
  };
}

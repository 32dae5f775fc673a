import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startTestService } from '../support/service.ts';
import {
  signedDelivery,
  singleUseNonce,
  squareEvent,
  startScriptedSquare,
} from '../support/square/scripted-square.ts';

const path = '/stage/payment/square/charge';
const request = { amount: 1_050, currency: 'EUR', token: singleUseNonce };
const key = 'asdf1234-signature-key';
const url = 'https://pay.example/stage/events/square';

async function start(t: TestContext) {
  const square = await startScriptedSquare(t);
  const env = {
    COUNTERFOIL_SQUARE_ACCESS_TOKEN: square.accessToken,
    COUNTERFOIL_SQUARE_API_BASE: square.origin,
    COUNTERFOIL_SQUARE_LOCATION: 'LOTHER',
    COUNTERFOIL_SQUARE_WEBHOOK_KEYS: key,
    COUNTERFOIL_SQUARE_WEBHOOK_URL: url,
  };
  return { service: await startTestService(t, { env }), square };
}

test('a service with a Square access token charges at its Square location, once per nonce', async (t) => {
  const { service, square } = await start(t);
  const first = await service.post(path, request);
  assert.equal(first.status, 200);
  const again = await service.post(path, request);
  assert.equal(again.text, first.text);
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  assert.equal(square.charges.length, 1);
  assert.equal(square.requests[0]?.body.location_id, 'LOTHER');
});

test('a Square event reports the outcome of a refund, and one with an invalid signature changes nothing', async (t) => {
  const { service, square } = await start(t);
  const charged = await service.post(path, request);
  const location = charged.headers.get('location') ?? '';
  const refunded = await service.post(`${location}/refund`, { amount: 500 });
  assert.equal(refunded.status, 200, refunded.text);
  const sent = square.requests.at(-1)?.body;
  const [made] = square.refunds;
  const refund = {
    id: made?.processorRefundId,
    payment_id: made?.chargeId,
    status: 'COMPLETED',
    reason: sent.reason,
    amount_money: { amount: 500, currency: 'EUR' },
  };
  const stateNow = async () => (await service.get(location)).json.body.refunds[0].status;
  assert.equal(await stateNow(), 'pending');
  for (const [signedBy, status, state] of [
    ['another-key', 401, 'pending'],
    [key, 200, 'succeeded'],
  ] as const) {
    const event = squareEvent('refund.updated', { refund });
    const { headers, body } = signedDelivery(event, { key: signedBy, url });
    const response = await service.post('/stage/events/square', body, headers as Record<string, string>);
    assert.equal(response.status, status, response.text);
    assert.equal(await stateNow(), state);
  }
});

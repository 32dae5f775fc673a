import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { paymentAfter } from '../support/payments/stripe-service.ts';
import { newDataFolder, startTestService, type TestService } from '../support/service.ts';

const path = '/stage/payment/simulated/charge';
const returnUrl = 'http://localhost:3000/paid?cart=7';
const request = { amount: 1_050, currency: 'EUR', token: 'tok_requires_action', return_url: returnUrl };
const form = { 'content-type': 'application/x-www-form-urlencoded' };

async function begin(t: TestContext) {
  const data = newDataFolder(t);
  const service = await startTestService(t, { data });
  const { status, json, headers } = await service.post(path, request, { 'idempotency-key': 'cart-7' });
  assert.deepEqual([status, json.body.error.code], [402, 'authentication_required']);
  const { url } = json.body.error.next_action;
  assert.ok(url.startsWith(`${service.origin}/stage/challenge/`), url);
  return { data, service, at: headers.get('location') ?? '', url };
}

function decide(url: string, decision: string): Promise<Response> {
  return fetch(url, { method: 'POST', headers: form, body: `decision=${decision}`, redirect: 'manual' });
}

function read({ get }: TestService, at: string) {
  return paymentAfter({ get } as TestService, at, ['requires_action']);
}

for (const [decision, status] of [
  ['approve', 'succeeded'],
  ['decline', 'declined'],
] as const) {
  test(`the simulated bank asks, and "${decision}" sends the cardholder back to a payment that has ${status}`, async (t) => {
    const { service, at, url } = await begin(t);
    const page = await fetch(url);
    assert.match(await page.text(), /A shop asks for <strong>10\.50 EUR<\/strong>/);
    assert.match(
      page.headers.get('content-security-policy') ?? '',
      /script|form-action 'self' http:\/\/localhost:3000/,
    );
    assert.equal((await service.get(at)).json.body.status, 'requires_action');

    const decided = await decide(url, decision);
    assert.deepEqual([decided.status, decided.headers.get('location')], [303, returnUrl]);
    assert.equal((await read(service, at)).status, status);
    // The first decision counts.
    await decide(url, decision === 'approve' ? 'decline' : 'approve');
    assert.equal((await service.get(at)).json.body.status, status);
    assert.match(await (await fetch(url)).text(), /This payment has ended/);
  });
}

test('nobody can approve a payment that the shop has canceled', async (t) => {
  const { service, at, url } = await begin(t);
  assert.equal((await service.post(`${at}/cancel`, {})).json.body.status, 'declined');
  await decide(url, 'approve');
  assert.equal((await service.get(at)).json.body.status, 'declined');
});

test('a challenge survives a restart of the service', async (t) => {
  const { data, service, at, url } = await begin(t);
  await service.stop();
  const next = await startTestService(t, { data });
  await decide(url.replace(service.origin, next.origin), 'approve');
  assert.equal((await read(next, at)).status, 'succeeded');
});

test('the bank has no page for an unknown challenge, and accepts no other decision', async (t) => {
  const { service, url } = await begin(t);
  assert.equal((await service.get('/stage/challenge/0123')).status, 404);
  assert.equal((await decide(url, 'maybe')).status, 400);
  assert.equal((await decide(url, 'approve&decision=decline')).status, 400);
});

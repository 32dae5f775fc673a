import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { givenUpMs } from '../support/busy-machine.ts';
import { newDataFolder, startTestService, type TestService } from '../support/service.ts';

const path = '/stage/payment/simulated/charge';
const request = { amount: 1_050, currency: 'EUR', token: 'tok_paid' };

test('a restarted service refunds a simulated payment that was made before', async (t) => {
  const data = newDataFolder(t);
  const before = await startTestService(t, { data });
  const paid = await before.post(path, request);
  const at = paid.headers.get('location');
  const half = { amount: 500 };
  const refunded = await before.post(`${at}/refund`, half, { 'idempotency-key': 'return-1' });
  assert.equal(refunded.status, 200);
  await before.stop();

  const after = await startTestService(t, { data });
  assert.equal(
    (await after.post(`${at}/refund`, half, { 'idempotency-key': 'return-1' })).text,
    refunded.text,
  );
  const rest = await after.post(`${at}/refund`, {});
  assert.deepEqual([rest.status, rest.json.body.amount], [200, 550]);
  assert.equal((await after.get(at ?? '')).json.body.amount_refunded, 1_050);
});

test('a restarted service finds a simulated charge whose reply was lost, and charges its key once', async (t) => {
  const data = newDataFolder(t);
  // Its clock is behind, so that the charge is due for the next process.
  const before = await startTestService(t, { data, now: () => Date.now() - 60_000 });
  const key = { 'idempotency-key': 'order-1' };
  const lost = { ...request, token: 'tok_lost_reply' };
  assert.equal((await before.post(path, lost, key)).status, 504);
  await before.stop();

  const after = await startTestService(t, { data });
  const found = await untilSucceeded(after, lost, key);
  const id = found.headers.get('payment-id');
  const { json } = await after.get(`${path}/${id}`);
  assert.equal(json.body.charge_id, found.json.body.message.charge_id);
  assert.equal((await after.post(`${path}/${id}/refund`, {})).status, 200);
});

test('a service without --simulate serves no simulated payment, whatever its data folder holds', async (t) => {
  const data = newDataFolder(t);
  const simulating = await startTestService(t, { data });
  const paid = await simulating.post(path, request);
  await simulating.stop();
  assert.ok(existsSync(data) && readdirSync(data).includes('simulated-ledger.jsonl'));

  const real = await startTestService(t, { data, simulate: false });
  for (const to of [path, `${paid.headers.get('location')}/refund`]) {
    const response = await real.post(to, to === path ? request : {});
    assert.deepEqual([response.status, response.json.body.error.code], [404, 'processor_not_found']);
  }
});

test('a service without --simulate makes no simulated ledger', async (t) => {
  const { data } = await startTestService(t, { simulate: false });
  assert.ok(!existsSync(`${data}/simulated-ledger.jsonl`));
});

async function untilSucceeded(service: TestService, body: object, key: Record<string, string>) {
  for (const giveUpAt = Date.now() + givenUpMs; Date.now() < giveUpAt; await sleep(50)) {
    const response = await service.post(path, body, key);
    if (response.status === 200) return response;
    assert.ok([504, 409].includes(response.status), response.text);
  }
  return assert.fail('the charge is still in doubt');
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventBodyBytesMax, uploadBytesPerAddressMax } from '../../src/http/server/guard.ts';
import { newKey } from '../support/access/keys.ts';
import { RawConnection, requestText } from '../support/http/raw-http.ts';
import { startTuned } from '../support/http/stalled-clients.ts';
import { newData } from '../support/serve-process.ts';
import { startTestService, type TestService } from '../support/service.ts';

const event = 'POST /stage/events/stripe';
const json = { 'Content-Type': 'application/json' };
const behindProxy = {
  COUNTERFOIL_TRUSTED_PROXIES: '127.0.0.1',
  COUNTERFOIL_STRIPE_WEBHOOK_SECRETS: 'whsec_abc',
};

test('limits the bytes of bodies that one address uploads at once, and serves other addresses', async (t) => {
  const service = await startTestService(t, { env: behindProxy });
  const length = { ...json, 'Content-Length': `${eventBodyBytesMax}` };
  for (let held = 0; held < uploadBytesPerAddressMax; held += eventBodyBytesMax)
    await begin(service, requestText(service.origin, event, { ...length, ...from('192.0.2.1') }));
  const rejected = await begin(
    service,
    requestText(service.origin, event, { ...length, ...from('192.0.2.1') }),
  );
  const response = await rejected.response();
  assert.equal(response.status, 503);
  assert.equal(response.json.body.error.code, 'overloaded');
  assert.equal(response.headers.get('connection'), 'close');

  const large = { id: 'x'.repeat(20_000) };
  const other = await service.post('/stage/events/stripe', large, from('192.0.2.2'));
  assert.notEqual(other.json.body.error.code, 'overloaded', 'a body of another address is accepted');
  const small = await service.post('/stage/events/stripe', {}, from('192.0.2.1'));
  assert.notEqual(small.json.body.error.code, 'overloaded', 'so is a small one');
  closeAll();
});

test('a body no longer counts after its response', async (t) => {
  const service = await startTestService(t, { env: behindProxy });
  const bodies = (2 * uploadBytesPerAddressMax) / eventBodyBytesMax;
  const body = { id: 'x'.repeat(eventBodyBytesMax - 100) };
  for (let n = 0; n < bodies; n++) {
    const response = await service.post('/stage/events/stripe', body, from('192.0.2.1'));
    assert.notEqual(response.json.body.error.code, 'overloaded');
  }
});

test('limits the concurrent requests of one caller behind a proxy, and serves other callers', async (t) => {
  const requestsPerAddressMax = 5;
  const data = newData(t);
  await newKey(data);
  const { origin } = await startTuned(t, { load: { requestsPerAddressMax } }, behindProxy, data);
  const slow = { ...json, 'Content-Length': '10', ...from('192.0.2.1') };
  const service = { origin };
  for (let n = 0; n < requestsPerAddressMax; n++) await begin(service, requestText(origin, event, slow));
  const rejected = await begin(service, requestText(origin, event, slow));
  assert.equal((await rejected.response()).status, 503);
  const table = await fetch(`${origin}/v3/table/none/read`, { headers: from('192.0.2.2') });
  assert.notEqual(table.status, 503);
});

function from(address: string): Record<string, string> {
  return { 'x-forwarded-for': address };
}

const begun = new Set<RawConnection>();

/** Closes the connections, because a shutdown waits for pending uploads. */
function closeAll(): void {
  for (const connection of begun) connection.close();
  begun.clear();
}

/** Sends a request whose body never arrives. */
async function begin({ origin }: Pick<TestService, 'origin'>, request: string): Promise<RawConnection> {
  const connection = await RawConnection.open(origin);
  begun.add(connection);
  connection.send(request);
  return connection;
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { payment } from '../support/http/documented-operations.ts';
import { assertError } from '../support/http/error-response.ts';
import { RawConnection, requestText } from '../support/http/raw-http.ts';
import { ambiguous, type Canary, type Smuggling, unambiguous } from '../support/http/smuggled-requests.ts';
import { startTestService, type TestService } from '../support/service.ts';

// The sender may also make this charge openly. The tests check whether the service parses it as a request.
const canaryKey = 'smuggled';

function canaryFor({ origin }: TestService): Canary {
  const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': canaryKey };
  const request = requestText(origin, `POST ${payment.path}`, headers, JSON.stringify(payment.body));
  return { host: new URL(origin).host, request };
}

test('returns 400 for every ambiguous request, closes the connection and never runs the hidden request', async (t) => {
  const service = await startTestService(t);
  const variants = ambiguous(canaryFor(service));
  assert.ok(variants.length >= 60, `${variants.length} variants`);
  for (const { what, bytes } of variants) {
    await t.test(what, async () => {
      const connection = await RawConnection.open(service.origin);
      connection.send(Buffer.from(bytes, 'latin1'));
      assertError(await connection.response(), { status: 400, code: 'invalid_request' });
      assert.ok(await connection.ends(), 'nothing follows the error');
    });
  }
  await assertNothingCharged(service);
});

test('treats a request in the body of another as a body, and serves the request after it', async (t) => {
  const service = await startTestService(t);
  for (const variant of unambiguous(canaryFor(service))) {
    await t.test(variant.what, () => assertOneResponse(service, variant));
  }
  await assertNothingCharged(service);
  const canary = await RawConnection.open(service.origin);
  canary.send(canaryFor(service).request);
  assert.equal((await canary.response()).status, 200, 'sent openly, it is a charge');
  canary.close();
});

async function assertOneResponse({ origin }: TestService, { bytes }: Smuggling): Promise<void> {
  const connection = await RawConnection.open(origin);
  connection.send(Buffer.from(bytes, 'latin1'));
  const { status } = await connection.response({ isHead: bytes.startsWith('HEAD') });
  assert.ok(status < 500, `${status}`);
  connection.send(requestText(origin, 'GET /v3/table/next/read'));
  const next = await connection.response().catch(() => undefined);
  // The service may have closed the connection, but must not parse the body as a request.
  if (next !== undefined) assertError(next, { status: 404, code: 'table_not_found' });
  connection.close();
}

async function assertNothingCharged(service: TestService): Promise<void> {
  const found = await service.get(`${payment.path}?idempotency_key=${canaryKey}`);
  assertError(found, { status: 404, code: 'payment_not_found' });
  const { json } = await service.get(payment.path);
  assert.deepEqual(json.body.payments ?? json.body, []);
  assertError(await service.get('/v3/table/books/read'), { status: 404, code: 'table_not_found' });
}

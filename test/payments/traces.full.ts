import assert from 'node:assert/strict';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { busyMachineMs } from '../support/busy-machine.ts';
import { assertAbsent } from '../support/canaries.ts';
import { startTestService } from '../support/service.ts';
import { startScriptedStripe } from '../support/stripe/scripted-stripe.ts';

interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code?: number };
  readonly attributes: readonly { readonly key: string; readonly value: { readonly stringValue?: string } }[];
}

/** A collector of OTLP over HTTP with JSON (https://opentelemetry.io/docs/specs/otlp/#otlphttp). */
async function startCollector(t: TestContext, status = 200) {
  const spans: Span[] = [];
  const paths: (string | undefined)[] = [];
  const texts: string[] = [];
  const server = createServer(async (request, response) => {
    // biome-ignore lint/suspicious/noExplicitAny: the exporter's JSON has many shapes
    const exported = (await json(request)) as any;
    texts.push(JSON.stringify(exported));
    paths.push(request.url);
    for (const { scopeSpans } of exported.resourceSpans)
      for (const scope of scopeSpans) spans.push(...scope.spans);
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { spans, paths, texts, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function fieldsOf({ attributes }: Span): Record<string, string | undefined> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue]));
}

const path = '/stage/payment/simulated/charge';
const requestWith = (token: string) => ({ amount: 123_457, currency: 'EUR', token });
const caller = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
const traceparent = `00-${caller.traceId}-${caller.spanId}-01`;

test('traces: a span for a charge and one for each step, in the trace of the caller', async (t) => {
  const collector = await startCollector(t);
  const service = await startTestService(t, { env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin } });
  const response = await service.post(path, requestWith('tok_paid'), { traceparent });
  await service.stop();
  assert.deepEqual([...new Set(collector.paths)], ['/v1/traces']);
  const [charge] = collector.spans.filter(({ name }) => name === 'charge');
  assert.ok(charge !== undefined);
  assert.deepEqual([charge.traceId, charge.parentSpanId], [caller.traceId, caller.spanId]);
  assert.deepEqual(fieldsOf(charge), {
    'counterfoil.processor': 'simulated',
    'counterfoil.payment_id': response.headers.get('payment-id'),
    'counterfoil.outcome': 'succeeded',
  });
  const steps = collector.spans.filter(({ parentSpanId }) => parentSpanId === charge.spanId);
  assert.deepEqual(
    steps.map(({ name }) => name),
    ['reserve', 'ask', 'settle'],
  );
  for (const { traceId } of steps) assert.equal(traceId, caller.traceId);
  const starts = [charge, ...steps].map(({ startTimeUnixNano }) => BigInt(startTimeUnixNano));
  assert.ok(
    starts.every((start, index) => start >= (starts[index - 1] ?? 0n)),
    `${starts}`,
  );
});

test('traces: an invalid traceparent starts a new trace, and an unsampled one is not exported', async (t) => {
  const collector = await startCollector(t);
  const service = await startTestService(t, { env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin } });
  const wrong = [
    `00-${'0'.repeat(32)}-${caller.spanId}-01`,
    `00-${caller.traceId}-${'0'.repeat(16)}-01`,
    `ff-${caller.traceId}-${caller.spanId}-01`,
    `${traceparent}-more`,
    traceparent.toUpperCase(),
    'nonsense',
  ];
  for (const each of wrong) await service.post(path, requestWith('tok_paid'), { traceparent: each });
  await service.post(path, requestWith('tok_paid'), { traceparent: traceparent.replace(/01$/, '00') });
  await service.stop();
  const charges = collector.spans.filter(({ name }) => name === 'charge');
  assert.equal(charges.length, wrong.length);
  for (const { traceId, parentSpanId } of charges) {
    assert.notEqual(traceId, caller.traceId);
    assert.ok(parentSpanId === undefined || parentSpanId === '');
  }
});

test('traces: contain only payment, processor and outcome, and are not sent to a processor', async (t) => {
  const canary = 'canary-4711-of-traces';
  const collector = await startCollector(t);
  const stripe = await startScriptedStripe(t);
  const service = await startTestService(t, {
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin,
      COUNTERFOIL_STRIPE_KEY: stripe.key,
      COUNTERFOIL_STRIPE_API_BASE: stripe.origin,
    },
  });
  const headers = { traceparent, 'idempotency-key': `${canary}-key` };
  await service.post(
    '/stage/payment/stripe/charge',
    { ...requestWith('tok_paid'), metadata: { [canary]: canary } },
    headers,
  );
  await service.post('/stage/payment/stripe/charge', requestWith('tok_paid'), headers);
  await service.post('/stage/payment/stripe/charge', requestWith(`${canary}-token`), { traceparent });
  await service.post(`/stage/payment/${canary}/charge`, requestWith('tok_paid'), { traceparent });
  await service.post(path, { ...requestWith('tok_paid'), currency: canary }, { traceparent });
  await service.stop();
  const allowed = new Set(['counterfoil.payment_id', 'counterfoil.processor', 'counterfoil.outcome']);
  const keys = collector.spans.flatMap(({ attributes }) => attributes.map(({ key }) => key));
  assert.deepEqual(
    keys.filter((key) => !allowed.has(key)),
    [],
  );
  const outcomes = collector.spans.map((span) => fieldsOf(span)['counterfoil.outcome']);
  assert.ok(
    outcomes.includes('idempotency_key_reused') && outcomes.includes('processor_not_found'),
    `${outcomes}`,
  );
  assertAbsent([canary, stripe.key, 'tok_paid', '123457'], { traces: Buffer.from(collector.texts.join()) });
  const sent: IncomingHttpHeaders[] = stripe.requests.map(({ headers: each }) => each);
  assert.ok(sent.length > 0 && sent.every((each) => each.traceparent === undefined));
});

test('traces: a failed or missing collector fails no charge and no shutdown', async (t) => {
  const failing = await startCollector(t, 503);
  for (const endpoint of [failing.origin, 'http://127.0.0.1:9']) {
    const service = await startTestService(t, { env: { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } });
    for (const _again of [1, 2, 3])
      assert.equal((await service.post(path, requestWith('tok_paid'))).status, 200);
    const began = performance.now();
    await service.stop();
    assert.ok(performance.now() - began < 9_000 + busyMachineMs);
  }
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { bearing, newKey } from '../support/access/keys.ts';
import { create, integration, payment, readPath, update } from '../support/http/documented-operations.ts';
import { requestText } from '../support/http/raw-http.ts';
import { Scraped } from '../support/metrics.ts';
import { newDataFolder, startTestService, type TestService } from '../support/service.ts';

const json = { 'Content-Type': 'application/json' };
const uploads: Readonly<Record<string, string>> = {
  create: `POST ${create.path}`,
  update: `PUT ${update.path}`,
  batch: 'POST /v3/table/books/batch',
  delete: 'DELETE /v3/table/books/delete',
  charge: `POST ${payment.path}`,
  refund: `POST ${payment.path}/pay_1/refund`,
  integration: `POST ${integration.path}`,
  event: 'POST /stage/events/stripe',
  token: 'POST /v3/auth/google/shop/token',
  'sign-out': 'POST /v3/auth/sign-out',
};
/** The ways in which a client closes its connection. */
const endings = ['destroy', 'end', 'resetAndDestroy'] as const;

for (const keyed of [false, true]) {
  test(`does not log or count an aborted upload as its own error${keyed ? ', with keys' : ''}`, async (t) => {
    const { service, headers } = await start(t, keyed);
    for (const line of Object.values(uploads)) {
      for (const ending of endings) {
        const body = '{"id":"a","na';
        const lengths: Record<string, string>[] = [
          { 'Content-Length': '1000' },
          { 'Transfer-Encoding': 'chunked' },
        ];
        for (const length of lengths) {
          const sent = requestText(service.origin, line, { ...json, ...headers, ...length });
          const isChunked = 'Transfer-Encoding' in length;
          await abort(
            service,
            sent + (isChunked ? `${body.length.toString(16)}\r\n${body}\r\n` : body),
            ending,
          );
        }
      }
    }
    await assertNoneIsInternal(service, headers);
  });

  test(`does not log or count an aborted response as its own error${keyed ? ', with keys' : ''}`, async (t) => {
    const { service, headers } = await start(t, keyed);
    for (let n = 0; n < 20; n++) {
      const item = { id: `${n}`, name: 'x'.repeat(200_000) };
      assert.equal((await service.post(create.path, item, headers)).status, 200);
    }
    for (const line of [
      `GET ${readPath}`,
      `GET ${readPath}?id=1`,
      'GET /docs/static/swagger-ui-bundle.js',
      'GET /nothing',
    ]) {
      for (const ending of endings) {
        const request = requestText(service.origin, line, headers);
        for (const count of [1, 3]) await abort(service, request.repeat(count), ending);
      }
    }
    await assertNoneIsInternal(service, headers);
  });
}

async function start(t: TestContext, keyed: boolean) {
  const data = newDataFolder(t);
  const key = keyed ? await newKey(data, { scopes: ['admin'] }) : undefined;
  const headers: Record<string, string> = key === undefined ? {} : bearing(key);
  return { service: await startTestService(t, { data }), headers };
}

async function abort({ origin }: TestService, sent: string, ending: (typeof endings)[number]): Promise<void> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  await new Promise<void>((resolve) => socket.write(sent, () => resolve()));
  await sleep(2);
  socket[ending]();
  await sleep(2);
  socket.destroy();
}

async function assertNoneIsInternal(service: TestService, headers: Record<string, string>): Promise<void> {
  assert.equal((await service.get('/livez')).status, 200);
  // The service logs an aborted connection after it has closed.
  await sleep(100);
  const lines = service.logged().split('\n').filter(Boolean);
  const internal = lines.filter(
    (line) => line.includes('"code":"internal"') || line.includes('"level":"error"'),
  );
  assert.deepEqual(internal.slice(0, 3), [], `${internal.length} lines`);
  const { text } = new Scraped((await service.get('/metrics', headers)).text);
  assert.doesNotMatch(text, /code="internal"\} [1-9]/);
}

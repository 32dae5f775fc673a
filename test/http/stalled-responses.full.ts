import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { requestsPerConnectionMax } from '../../src/http/server/active-request.ts';
import { connectionsOf } from '../support/attacks/connections.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { isLong } from '../support/extent.ts';
import { create } from '../support/http/documented-operations.ts';
import { requestText } from '../support/http/raw-http.ts';
import {
  askHonestly,
  residentBytes,
  StalledClient,
  startTuned,
  type TunedService,
} from '../support/http/stalled-clients.ts';
import { startTestService, unhurried } from '../support/service.ts';

/** How long a response may make no progress; the service's own bound is 30 s. */
const stallMs = isLong ? 30_000 : 1_000;
const closedMsMax = isLong ? 45_000 : givenUpMs;
const growthBytesMax = 150 * 1024 * 1024;
const lookMs = 50;
const linux = existsSync('/proc/self/status') ? {} : { skip: 'memory and sockets are read from /proc' };

/** The path, the number of clients and the most requests of each: more than the socket buffers of a client hold. */
const attacks: Readonly<Record<string, readonly [path: string, clients: number, requests: number]>> = {
  'an asset of the documentation': ['/docs/static/swagger-ui-bundle.js', 34, requestsPerConnectionMax],
  '/openapi.json': ['/openapi.json', 34, requestsPerConnectionMax],
  'a large item': ['/v3/table/books/read?id=large', 34, requestsPerConnectionMax],
  'paths that do not exist': ['/nothing', 4, 40_000],
};

for (const [what, [path, clients, requests]] of Object.entries(attacks)) {
  test(
    `closes connections of clients that request ${what} and read nothing, in bounded memory`,
    linux,
    async (t) => {
      const service = await startTuned(t, { responseStallMs: stallMs });
      await createItem(service, 'small', 'a');
      await createItem(service, 'large', 'x'.repeat(300_000));
      // Fills the caches before memory is measured.
      for (const each of [path, path, '/v3/table/books/read?id=small'])
        await (await fetch(service.origin + each)).text();

      const ended = new AbortController();
      const honest = askHonestly(`${service.origin}/v3/table/books/read?id=small`, ended.signal);
      const growth = await attack(t, service, {
        request: requestText(service.origin, `GET ${path}`),
        clients,
        requests,
      }).finally(() => ended.abort());
      const { asked, served } = await honest;
      t.diagnostic(`${served} of ${asked} honest requests served, ${Math.round(growth / 2 ** 20)} MiB more`);
      assert.ok(served >= asked * 0.999, `${served} of ${asked} honest requests are served`);
      assert.equal((await fetch(`${service.origin}/readyz`)).status, 200);
    },
  );
}

test('is not ready while it has shed all requests for long, and is ready again afterwards', async (t) => {
  const load = { ...unhurried, requestsRunningMax: 0, sheddingMsMax: 300 };
  const service = await startTestService(t, { load });
  assert.equal((await service.get('/readyz')).status, 200, 'nothing has been shed yet');
  assert.equal((await service.get('/nothing')).status, 503);
  assert.equal((await service.get('/readyz')).status, 200, 'one shed request is no lasting overload');
  await until(async () => {
    assert.equal((await service.get('/nothing')).status, 503);
    return (await service.get('/readyz')).status === 503;
  });
  const { json } = await service.get('/readyz');
  assert.equal(json.body.failed.length, 1, 'the response names the check that failed');
  assert.equal((await service.get('/livez')).status, 200, 'a restart would not help');
  await until(async () => (await service.get('/readyz')).status === 200);
});

/**
 * Resolves when the service has closed the connections of all clients. Fails as soon as it uses too much memory.
 *
 * @returns the most that the memory of the service has grown
 */
async function attack(
  t: TestContext,
  { origin, pid }: TunedService,
  { request, clients, requests }: { request: string; clients: number; requests: number },
): Promise<number> {
  const before = residentBytes(pid);
  const stalled = await Promise.all(
    Array.from({ length: clients }, () => StalledClient.begin(origin, request, requests)),
  );
  t.after(() => {
    for (const client of stalled) client.close();
  });
  const ports = new Set(stalled.map(({ port }) => port));
  const giveUpAt = performance.now() + closedMsMax;
  let growth = 0;
  for (;;) {
    growth = Math.max(growth, residentBytes(pid) - before);
    assert.ok(growth <= growthBytesMax, `${Math.round(growth / 2 ** 20)} MiB more`);
    const open = connectionsOf(pid).filter(({ remotePort }) => ports.has(remotePort));
    if (open.length === 0) return growth;
    assert.ok(
      performance.now() < giveUpAt,
      `${open.length} of ${clients} are connected after ${closedMsMax} ms`,
    );
    await sleep(lookMs);
  }
}

async function createItem({ origin }: TunedService, id: string, name: string): Promise<void> {
  const body = JSON.stringify({ id, name });
  const headers = { 'content-type': 'application/json' };
  assert.equal((await fetch(origin + create.path, { method: 'POST', headers, body })).status, 200);
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const giveUpAt = Date.now() + givenUpMs;
  while (!(await isSo())) {
    assert.ok(Date.now() < giveUpAt, `the condition did not hold within ${givenUpMs} ms`);
    await sleep(20);
  }
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { CounterfoilError } from '../../client/src/index.ts';
import { Operator } from '../../client/src/operator.ts';
import { MemoryLedger } from '../../src/processors/simulated/memory-ledger.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { assertError } from '../support/http/error-response.ts';
import { startLedger } from '../support/ledger/ledger-process.ts';
import { startTestService } from '../support/service.ts';

const path = '/v3/payments/reconciliation?processor=simulated';

test('a slow processor: bytes come at once and again, one runs at a time until its page has ended, and a stop ends it', async (t) => {
  const ledger = new MemoryLedger();
  const { origin } = await startLedger(t, ledger);
  const service = await startTestService(t, { env: { COUNTERFOIL_SIMULATED_LEDGER: origin } });
  const { promise, resolve: respond } = Promise.withResolvers<Awaited<ReturnType<MemoryLedger['records']>>>();
  ledger.records = () => promise;
  const client = new Operator({ url: service.origin });
  const leaving = new AbortController();
  const lines = client.reconcile({ processor: 'simulated', signal: leaving.signal });
  assert.equal((await lines.next()).value?.type, 'begin');
  assertError(await service.get(path), { status: 409, code: 'reconciliation_running' });
  assert.deepEqual((await lines.next()).value, { type: 'progress', payments: 0, charges: 0, others: 0 });
  leaving.abort();
  await assert.rejects(
    lines.next(),
    (error) => error instanceof CounterfoilError && error.code === 'aborted',
  );
  assertError(await service.get(path), { status: 409, code: 'reconciliation_running' });
  respond({ charges: [], refunds: [] });
  for (const giveUpAt = Date.now() + givenUpMs; ; await sleep(20)) {
    const again = await service.get(path);
    if (again.status === 200) break;
    assert.ok(Date.now() < giveUpAt, 'the one that was left has ended');
  }

  ledger.records = () => new Promise(() => undefined);
  const last = client.reconcile({ processor: 'simulated' });
  await last.next();
  const stopped = service.stop();
  const { value } = await last.next();
  assert.ok(value?.type === 'end' && value.unfinished === 'The service is stopping.', JSON.stringify(value));
  await stopped;
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { givenUpMs } from '../support/busy-machine.ts';
import { runCommand } from '../support/command.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';
import { tryToPost } from '../support/try-to-send.ts';

const path = '/stage/payment/simulated/charge';
const request = { amount: 2_000, currency: 'EUR', token: 'tok_paid' };

for (const workers of [1, 2]) {
  test(`the commands manage the simulated payments of ${workers === 1 ? 'a running service' : 'two workers'}`, async (t) => {
    const { start, payments } = prepare(t);
    const service = await start(workers);
    const ids: string[] = [];
    for (let n = 0; n < 8; n++) ids.push(await pay(service));
    const [first = '', second = '', third = ''] = ids;

    const listed = await payments('list', '--processor', 'simulated', '--json');
    assert.equal(listed.output.trim().split('\n').length, ids.length);
    assert.equal(JSON.parse((await payments('show', first, '--json')).output).status, 'succeeded');
    const refunded = await payments('refund', first, '--amount', '500', '--json');
    assert.deepEqual([refunded.status, JSON.parse(refunded.output).amount], [0, 500], refunded.errors);
    // The service refunds what the command has left, and no more.
    assert.equal(await refund(service, first, 1_501), 400);
    assert.equal(await refund(service, first, 1_500), 200);
    const canceled = await payments('cancel', second);
    assert.match(canceled.errors, /has succeeded: it cannot be canceled/);
    assert.match(
      (await payments('reconcile', 'simulated')).output,
      /^8 payments here, 8 .*: no difference\n$/,
    );

    await service.kill();
    assert.equal((await payments('refund', second)).status, 0, 'the commands need no service');
    const again = await start(workers);
    assert.equal(await refund(again, third, 2_000), 200);
    await pay(again);
    const reconciled = await payments('reconcile', 'simulated');
    assert.match(reconciled.output, /^9 payments here, 9 .*: no difference\n$/);
    assert.equal(reconciled.status, 0);
  });
}

test('payments cancel: finds the simulated charge that a killed service has made', async (t) => {
  const { data, start, payments } = prepare(t);
  const service = await start(1);
  const ledger = `${data}/simulated-ledger.jsonl`;
  const sent = tryToPost((await service.ready()) + path, { ...request, token: 'tok_slow' });
  for (
    const giveUpAt = Date.now() + givenUpMs;
    !readFileSync(ledger, 'utf8').includes('"charge"');
    await sleep(5)
  )
    assert.ok(Date.now() < giveUpAt, 'the ledger stays empty');
  await service.kill();
  assert.equal(await sent, undefined);

  const { id, status } = JSON.parse((await payments('list', '--json')).output);
  assert.equal(status, 'calling');
  const canceled = await payments('cancel', id);
  assert.deepEqual([canceled.status, canceled.output], [1, `${id} is succeeded\n`]);
  assert.equal((await payments('refund', id)).status, 0);
  const reconciled = await payments('reconcile', 'simulated');
  assert.deepEqual([reconciled.status, reconciled.errors], [0, ''], reconciled.output);
});

test('payments reconcile simulated: exits with 2 where no service has served the simulated processor', async (t) => {
  const data = newData(t);
  const service = await ServeProcess.start(t, { data });
  const ended = await runCommand(['payments', 'reconcile', 'simulated'], { COUNTERFOIL_DATA: data });
  assert.equal(ended.status, 2);
  assert.match(ended.errors, /There is no payment processor with this name/);
  await service.kill();
});

function prepare(t: TestContext) {
  const data = newData(t);
  return {
    data,
    start: (workers: number) => ServeProcess.start(t, { data, simulate: true, workers }),
    payments: (...args: string[]) => runCommand(['payments', ...args], { COUNTERFOIL_DATA: data }),
  };
}

async function pay(service: ServeProcess): Promise<string> {
  const response = await tryToPost((await service.ready()) + path, request);
  assert.ok(response?.status === 200, `${response?.text}`);
  return response.headers.get('payment-id') ?? '';
}

async function refund(service: ServeProcess, id: string, amount: number): Promise<number | undefined> {
  return (await tryToPost(`${await service.ready()}${path}/${id}/refund`, { amount }))?.status;
}

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { initDynamo } from '../../src/storage/dynamodb/open.ts';
import { Caller } from '../support/caller.ts';
import { dynamoEndpoint, dynamoEnvironment, dynamoRegion, newPrefix } from '../support/dynamodb/stores.ts';
import { type LedgerProcess, startLedgerProcess } from '../support/ledger/ledger-process.ts';
import { between, randomFrom, seedOf } from '../support/random.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';
import { readTable, writeTable } from '../support/tables/table-operations.ts';
import { tryToPost, tryToSend } from '../support/try-to-send.ts';

/** Three processes on one engine, which share nothing else (promises 1, 2 and 11). */
const processes = 3;
const chargePath = '/stage/payment/simulated/charge';
const chargeBody = { amount: 1_050, currency: 'EUR', token: 'tok_paid' };
const takenOverMsMax = 30_000;

test('accepts one of 64 concurrent creates of an id, through three processes', async (t) => {
  const { origins } = await startAll(t);
  const callers = Array.from({ length: 64 }, (_, n) => new Caller(origins[n % processes] as string));
  for (const caller of callers) await caller.send('GET', '/livez');
  for (let round = 0; round < 3; round++) {
    const id = `item-${round}`;
    const responses = await Promise.all(
      callers.map((caller, n) => writeTable(caller, 'prizes', [{ kind: 'create', id, name: `caller ${n}` }])),
    );
    const statuses = responses.map((response) =>
      response.kind === 'responded' ? response.status : response.kind,
    );
    assert.deepEqual(
      [...statuses].sort(),
      [200, ...Array(63).fill(409)],
      `${statuses} for the same id at once`,
    );
    const winner = `{"id":"${id}","name":"caller ${statuses.indexOf(200)}"}`;
    for (const caller of callers.slice(0, processes)) {
      const read = await readTable(caller, 'prizes', id);
      assert.ok(read.kind === 'responded' && read.text.includes(winner), JSON.stringify(read));
    }
  }
  for (const caller of callers) caller.close();
});

test('charges once, with one response, when three processes get an idempotency key at once', async (t) => {
  const { origins, ledger } = await startAll(t);
  for (let round = 1; round <= 4; round++) {
    const responses = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        tryToPost(origins[n % processes] + chargePath, chargeBody, { 'idempotency-key': `order-${round}` }),
      ),
    );
    const different = new Set(responses.map((response) => `${response?.status} ${response?.text}`));
    assert.equal(different.size, 1, [...different].join('\n'));
    assert.match([...different][0] as string, /^200 /);
    const first = responses.filter((response) => response?.headers.get('idempotent-replayed') === null);
    assert.equal(first.length, 1);
    assert.equal((await ledger.charges()).length, round);
  }
});

test('finishes the charges of a killed process by another within 30 s, and charges each key once', async (t) => {
  const random = randomFrom(seedOf(t));
  const { origins, services, ledger } = await startAll(t);
  const [doomed, ...others] = origins as [string, string, string];
  const keys = Array.from({ length: 40 }, (_, n) => `order-${n}`);
  const sent = keys.map(async (key, n) => {
    await sleep(20 * n);
    return tryToPost(doomed + chargePath, chargeBody, { 'idempotency-key': key });
  });
  await sleep(between(random, 150, 600));
  await services[0]?.kill();
  const killedAt = Date.now();
  const responses = await Promise.all(sent);
  const cut = keys.filter((_, n) => responses[n] === undefined);
  assert.ok(cut.length > 0, 'the kill interrupted no charge');

  // The requests are not repeated: the other processes find the reserved charges by themselves.
  const found: unknown[] = [];
  for (const key of cut) found.push(await ended(others, key, killedAt + takenOverMsMax));
  const charges = await ledger.charges();
  const reserved = found.filter((payment) => payment !== undefined);
  t.diagnostic(`${cut.length} cut off, ${reserved.length} of them reserved, ${charges.length} charges`);

  const known = keys.flatMap((_, n) => {
    const { charge_id: id } = JSON.parse(responses[n]?.text ?? '{"body":{}}').body.message ?? {};
    return id === undefined ? [] : [id as string];
  });
  const foundIds = reserved.map((payment) => (payment as { charge_id: string }).charge_id);
  assert.deepEqual([...known, ...foundIds].sort(), charges.map(({ chargeId }) => chargeId).sort());
  const payments = new Set(charges.map(({ paymentId }) => paymentId));
  assert.equal(payments.size, charges.length, 'a payment was charged twice');
});

test('ends with one outcome when processes make and recover the same charge at once', async (t) => {
  const { origins, ledger } = await startAll(t);
  const keys = Array.from({ length: 6 }, (_, n) => `order-${n}`);
  const doubtful = { ...chargeBody, token: 'tok_lost_reply' };
  const send = (key: string, process: number) =>
    tryToPost(origins[process % processes] + chargePath, doubtful, { 'idempotency-key': key });
  const first = await Promise.all(
    keys.flatMap((key) => Array.from({ length: processes }, (_, n) => send(key, n))),
  );
  assert.ok(first.some((response) => response?.status === 504));
  for (const key of keys) {
    const payment = await ended(origins, key, Date.now() + takenOverMsMax);
    const replays = await Promise.all(Array.from({ length: processes }, (_, n) => send(key, n)));
    assert.equal(new Set(replays.map((response) => response?.text)).size, 1);
    assert.ok(replays[0]?.text.includes((payment as { charge_id: string }).charge_id));
  }
  const charges = await ledger.charges();
  assert.equal(charges.length, keys.length);
});

interface Running {
  readonly origins: readonly string[];
  readonly services: readonly ServeProcess[];
  readonly ledger: LedgerProcess;
}

async function startAll(t: TestContext): Promise<Running> {
  const endpoint = await dynamoEndpoint();
  const tablePrefix = newPrefix();
  await initDynamo({ endpoint, region: dynamoRegion, tablePrefix, declared: [] });
  const ledger = await startLedgerProcess(t);
  const env = {
    ...dynamoEnvironment(endpoint, tablePrefix),
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    PATH: process.env.PATH ?? '',
    COUNTERFOIL_SIMULATED_LEDGER: ledger.origin,
    COUNTERFOIL_MASTER_KEY: randomBytes(32).toString('base64'),
  };
  const services = Array.from({ length: processes }, () =>
    ServeProcess.spawn(t, { data: newData(t), env, simulate: true }),
  );
  const origins = await Promise.all(services.map((service) => service.ready()));
  return { origins, services, ledger };
}

/**
 * Waits until the charge of a key has succeeded in every process. @returns its payment; undefined if none was reserved
 */
async function ended(origins: readonly string[], key: string, giveUpAt: number): Promise<unknown> {
  for (;;) {
    const found = await Promise.all(
      origins.map((origin) => tryToSend(`${origin}${chargePath}?idempotency_key=${key}`)),
    );
    if (found.every((response) => response?.status === 404)) return undefined;
    const payments = found.map((response) => JSON.parse(response?.text ?? '{}').body);
    if (payments.every((payment) => payment?.status === 'succeeded')) {
      for (const payment of payments) assert.deepEqual(payment, payments[0]);
      return payments[0];
    }
    assert.ok(Date.now() < giveUpAt, `${key}: ${found.map((response) => response?.text)}`);
    await sleep(100);
  }
}

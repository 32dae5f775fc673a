import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { stopMsMax } from '../../src/lifecycle.ts';
import { FileLedger } from '../../src/processors/simulated/file-ledger.ts';
import { busyMachineMs } from '../support/busy-machine.ts';
import { startLedgerProcess } from '../support/ledger/ledger-process.ts';
import { assertHonest, Shop, settings } from '../support/payments/paying.ts';
import { between, randomFrom, seedOf } from '../support/random.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';
import { adminKey, newDataFolder, startTestService } from '../support/service.ts';
import { startScriptedStripe } from '../support/stripe/scripted-stripe.ts';
import { tryToPost } from '../support/try-to-send.ts';

const callers = 16;
/** Each drill has several kills; each kill interrupts dozens of charges, at any step. */
const drills = process.env.LONG === undefined ? 1 : 250;
const killsPerDrill = process.env.LONG === undefined ? 2 : 10;

/** A ledger that the kills leave alone. */
const otherProcess = {
  where: 'the ledger in another process',
  open: async (t: TestContext) => {
    const { origin, records } = await startLedgerProcess(t);
    return { env: { COUNTERFOIL_SIMULATED_LEDGER: origin }, records };
  },
};
/** A ledger that is written by the processes that are killed. */
const dataFolder = {
  where: 'the ledger in the data folder',
  open: async (_t: TestContext, data: string) => ({
    env: {},
    records: () => FileLedger.open(join(data, 'simulated-ledger.jsonl')).records(),
  }),
};

describe('killed and stopped services', { concurrency: 3 }, () => {
  for (const processes of [1, 2]) {
    const who = processes === 1 ? 'the service is' : 'two services on one store are';
    for (const open of [otherProcess, dataFolder]) {
      test(`charges each key once, and reports every charge, refund and item, however often ${who} killed, with ${open.where}`, async (t) => {
        const seed = seedOf(t);
        for (let drill = 0; drill < drills; drill++) await drillOf(t, seed + drill, processes, open);
      });
    }
  }

  test('ends within 10 s of SIGTERM while the processor keeps a charge in doubt waiting', async (t) => {
    const { stripe, options } = await silentStripe(t);
    stripe.holds = false;
    // Its clock is behind, so that the charge is due for the next process.
    const before = await startTestService(t, { ...options, now: () => Date.now() - 60_000 });
    const lost = { amount: 1_050, currency: 'EUR', token: 'tok_dropped_after_charging' };
    assert.equal((await before.post('/stage/payment/stripe/charge', lost)).status, 504);
    await before.stop();

    stripe.holds = true;
    const sent = stripe.requests.length;
    const service = await ServeProcess.start(t, options);
    while (stripe.requests.length === sent) await sleep(20);
    await endsInTime(service);
  });

  test('ends within 10 s of SIGTERM while the processor keeps a caller waiting', async (t) => {
    const { stripe, options } = await silentStripe(t);
    const authorization = `Bearer ${await adminKey(options.data)}`;
    const service = await ServeProcess.start(t, options);
    const request = { amount: 1_050, currency: 'EUR', token: 'tok_paid' };
    const response = tryToPost(`${await service.ready()}/stage/payment/stripe/charge`, request, {
      authorization,
    });
    while (stripe.requests.length === 0) await sleep(20);
    await endsInTime(service);
    await response;
  });
});

async function drillOf(
  t: TestContext,
  seed: number,
  processes: number,
  { open }: typeof otherProcess | typeof dataFolder,
): Promise<void> {
  const random = randomFrom(seed);
  const data = newData(t);
  const { env, records } = await open(t, data);
  const start = () => ServeProcess.start(t, { data, env, settings, simulate: true });
  const shop = new Shop(random);
  for (let kill = 1; kill <= killsPerDrill; kill++) {
    const services = await Promise.all(Array.from({ length: processes }, start));
    const origins = await Promise.all(services.map((service) => service.ready()));
    const killed = services.map(async (service) => {
      await sleep(between(random, 100, 1_500));
      await service.kill();
    });
    await shop.trade(origins, callers, Promise.all(killed));
  }
  assert.ok(shop.lost > 0, `SEED=${seed}: no kill interrupted a request`);

  const survivor = await start();
  await shop.settleAll(await survivor.ready());
  assert.equal(await survivor.terminate(), 0);
  const books = await records();
  t.diagnostic(
    `${shop.orders.length} orders, ${shop.lost} requests without a response, ` +
      `${books.charges.length} charges, ${books.refunds.length} refunds`,
  );
  await assertHonest(shop, books, data);
}

async function silentStripe(t: TestContext) {
  const stripe = await startScriptedStripe(t);
  stripe.holds = true;
  const env = { COUNTERFOIL_STRIPE_KEY: stripe.key, COUNTERFOIL_STRIPE_API_BASE: stripe.origin };
  return { stripe, options: { data: newDataFolder(t), env } };
}

async function endsInTime(service: ServeProcess): Promise<void> {
  const outOfTime = sleep(stopMsMax + busyMachineMs, 'still running', { ref: false });
  assert.equal(await Promise.race([service.terminate(), outOfTime]), 0);
}

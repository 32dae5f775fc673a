import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { idWithin, newKey } from '../support/access/keys.ts';
import { assertAbsent } from '../support/canaries.ts';
import { runCommand } from '../support/command.ts';
import { startTestService } from '../support/service.ts';
import { startScriptedSquare } from '../support/square/scripted-square.ts';
import { startScriptedStripe } from '../support/stripe/scripted-stripe.ts';

/** The data folder of a stopped service. */
async function newStore(t: TestContext): Promise<string> {
  const { data, stop } = await startTestService(t);
  await stop();
  return data;
}

function doctorOf(data: string, env: Readonly<Record<string, string>> = {}) {
  return runCommand(['doctor'], { COUNTERFOIL_DATA: data, PORT: '0', ...env });
}

test('doctor: calls each processor that has a key, and reports whether the key is valid', async (t) => {
  const data = await newStore(t);
  const [stripe, square] = await Promise.all([startScriptedStripe(t), startScriptedSquare(t)]);
  const env = {
    COUNTERFOIL_STRIPE_KEY: stripe.key,
    COUNTERFOIL_STRIPE_API_BASE: stripe.origin,
    COUNTERFOIL_SQUARE_ACCESS_TOKEN: square.accessToken,
    COUNTERFOIL_SQUARE_API_BASE: square.origin,
  };
  const well = await doctorOf(data, env);
  assert.equal(well.status, 0, well.output);
  assert.match(well.output, /^ok processor stripe: /m);
  assert.match(well.output, /^ok processor square: /m);
  assert.deepEqual([stripe.charges.length, square.charges.length], [0, 0]);

  const keys = ['sk_test_canary4711canary4711', 'canary-4711-square-token'] as const;
  const wrong = await doctorOf(data, {
    ...env,
    COUNTERFOIL_STRIPE_KEY: keys[0],
    COUNTERFOIL_SQUARE_ACCESS_TOKEN: keys[1],
  });
  assert.equal(wrong.status, 1);
  assert.match(wrong.output, /^problem processor stripe: rejects the key .*401/m);
  assert.match(wrong.output, /^problem processor square: rejects the key .*401/m);
  assertAbsent(keys, { output: Buffer.from(wrong.output + wrong.errors) });

  // A port without a listener.
  const gone = createServer().listen(0, '127.0.0.1');
  await once(gone, 'listening');
  const nowhere = `http://127.0.0.1:${(gone.address() as AddressInfo).port}`;
  gone.close();
  const away = await doctorOf(data, {
    ...env,
    COUNTERFOIL_STRIPE_API_BASE: nowhere,
    COUNTERFOIL_SQUARE_API_BASE: nowhere,
  });
  assert.equal(away.status, 1);
  assert.match(away.output, /^problem processor stripe: cannot be reached/m);
  assert.match(away.output, /^problem processor square: cannot be reached/m);
});

test('doctor: reports a port that another program uses', async (t) => {
  const data = await newStore(t);
  const other = createServer((_request, response) => response.end('{"status":"alive"}'));
  other.listen(0, '127.0.0.1');
  await once(other, 'listening');
  t.after(() => other.close());
  const taken = await doctorOf(data, { PORT: String((other.address() as AddressInfo).port) });
  assert.equal(taken.status, 1);
  assert.match(taken.output, /^problem address: 127\.0\.0\.1:\d+: another program uses it.* PORT/m);
  const free = await doctorOf(data);
  assert.match(free.output, /^ok address: 127\.0\.0\.1:0 is free; only this machine can reach it$/m);
});

test('doctor: reports the free space of the disk', async (t) => {
  const { output } = await doctorOf(await newStore(t));
  const free = /^ok disk: (\d+) MiB are free/m.exec(output)?.[1];
  assert.ok(Number(free) > 0, output);
});

test('doctor: reports a publishable key that is limited to a payment route without a price', async (t) => {
  const data = await newStore(t);
  const fields = {
    kind: 'publishable',
    scopes: ['payments:create'],
    origins: ['https://shop.example'],
  } as const;
  const key = await newKey(data, { ...fields, name: 'page', routes: ['stripe/charge'] });
  const { status, output } = await doctorOf(data);
  assert.equal(status, 1);
  assert.ok(
    output.includes(
      `problem publishable API key ${idWithin(key)} (page): it cannot take payments on charge, because a page must not set ` +
        'the price; set payments.routes.charge.price\n',
    ),
    output,
  );
});

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { givenUpMs } from '../support/busy-machine.ts';
import { killedAt } from '../support/kill-at.ts';
import { key, request, challengeSettings as settings } from '../support/payments/challenge.ts';
import { path } from '../support/payments/stripe-service.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';
import { adminKey } from '../support/service.ts';
import { type ScriptedStripe, startScriptedStripe } from '../support/stripe/scripted-stripe.ts';
import { tryToPost, tryToSend } from '../support/try-to-send.ts';

/** Each commit of the charge: its reservation, the cardholder's wait, its end. */
const steps = ['before 1', 'after 1', 'before 2', 'after 2', 'before 3', 'after 3'] as const;

describe('a process that is killed around a cardholder’s authentication', { concurrency: 3 }, () => {
  for (const killAt of steps) {
    for (const processes of [1, 2]) {
      // Before the wait is stored, the cardholder's answer makes no difference; nor does the other process to a decline.
      const isDecided = killAt === 'after 2' || killAt.endsWith('3');
      for (const isCardholder of isDecided && processes === 1 ? [true, false] : [true]) {
        const who = processes === 1 ? '' : ', with another process on its store';
        const end = isCardholder ? 'one charge and its item' : 'no charge, no item and no open intent';
        test(`${killAt}${who}: ${end}`, async (t) => drill(t, { killAt, processes, isCardholder }));
      }
    }
  }
});

interface Drill {
  readonly killAt: (typeof steps)[number];
  readonly processes: number;
  readonly isCardholder: boolean;
}

async function drill(t: TestContext, { killAt, processes, isCardholder }: Drill): Promise<void> {
  const stripe = await startScriptedStripe(t);
  const data = newData(t);
  const headers = { authorization: `Bearer ${await adminKey(data)}`, ...key };
  const env = { COUNTERFOIL_STRIPE_KEY: stripe.key, COUNTERFOIL_STRIPE_API_BASE: stripe.origin };
  const hooked = killedAt(killAt.replace(' ', ' payments '));
  const first = await ServeProcess.start(t, { data, settings, env: { ...env, ...hooked } });
  const other = processes === 2 ? await ServeProcess.start(t, { data, settings, env }) : undefined;

  const begun = await tryToPost((await first.ready()) + path, request, headers);
  const location = begun?.headers.get('location');
  if (begun !== undefined) {
    assert.equal(begun.status, 402, begun.text);
    decide(stripe, isCardholder);
    // The cardholder returns.
    await tryToSend((await first.ready()) + location, { headers });
  }
  await first.kill();

  const service = other ?? (await ServeProcess.start(t, { data, settings, env }));
  const origin = await service.ready();
  const waits = await until(
    () => tryToPost(origin + path, request, headers),
    (status) => status === 402 || status === 200,
  );
  if (waits.text.includes('next_action')) decide(stripe, isCardholder);
  const at = `${origin}${waits.headers.get('location')}`;
  const read = () => tryToSend(at, { headers });
  const ended = await until(read, (_, text) => /"status":"(succeeded|declined)"/.test(text));
  assert.match(ended.text, isCardholder ? /"status":"succeeded"/ : /"status":"declined"/);

  const last = await until(
    () => tryToPost(origin + path, request, headers),
    (status) => status !== 503,
  );
  assert.equal(last.status, isCardholder ? 200 : 402, last.text);
  assert.ok(!last.text.includes('next_action'));
  const [intent, ...intents] = stripe
    .records()
    .intents.filter(({ metadata }) => metadata.counterfoil_payment_id);
  assert.deepEqual([intent?.status, intents.length], [isCardholder ? 'succeeded' : 'canceled', 0]);
  assert.equal(stripe.charges.length, isCardholder ? 1 : 0);
  const seats = await until(
    () => tryToSend(`${origin}/v3/table/seats/read`, { headers }),
    (status) => status !== 503,
  );
  const isSold = seats.status === 200 && seats.text.includes('"id":"A-7"');
  assert.equal(isSold, isCardholder, seats.text);
}

/** The bank decides, unless it has. */
function decide(stripe: ScriptedStripe, isCardholder: boolean): void {
  const waiting = stripe.records().intents.find(({ status }) => status === 'requires_action');
  if (waiting !== undefined) stripe.command({ authenticate: { id: waiting.id, isCardholder } });
}

type Response = NonNullable<Awaited<ReturnType<typeof tryToPost>>>;

async function until(
  send: () => Promise<Response | undefined>,
  isEnd: (status: number, text: string) => boolean,
) {
  const giveUpAt = Date.now() + givenUpMs;
  for (;;) {
    const response = await send();
    if (response !== undefined && isEnd(response.status, response.text)) return response;
    assert.ok(Date.now() < giveUpAt, `no end: ${response?.status} ${response?.text}`);
    await sleep(50);
  }
}

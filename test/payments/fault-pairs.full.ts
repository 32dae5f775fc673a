import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { count, isLong } from '../support/extent.ts';
import { type Finding, findingsOf, paymentsIn } from '../support/payments/fault-findings.ts';
import {
  FaultCaller,
  type FaultCharge,
  type GoesOn,
  newCharge,
  type SingleUse,
} from '../support/payments/fault-requests.ts';
import {
  type FaultWord,
  lostMethodWords,
  mayStayOpen,
  pairWords,
  plainWords,
  refundWords,
} from '../support/payments/fault-words.ts';
import { between, pick, type Random, randomFrom, seedOf } from '../support/random.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';
import { adminKey, unlimited } from '../support/service.ts';
import { type StripeProcess, startStripeProcess } from '../support/stripe/process.ts';

const drills = count({ short: 1, long: 20 });
const keysPerDrill = count({ short: 100, long: 1_000 });
/** A busy machine may need all of it; an idle one needs seconds. */
const settleMsMax = 120_000;

/** Pairs are picked twice as often: they are easily overlooked. */
const allWords = inTime([...plainWords, ...refundWords, ...pairWords, ...pairWords]);

/** A reply that never comes takes half a minute, which a short run does not have. */
function inTime(words: readonly FaultWord[]): readonly FaultWord[] {
  return words.filter(({ isHeld }) => isLong || !isHeld);
}

describe('a lost reply that is followed by a rejection', { concurrency: isLong ? 4 : 3 }, () => {
  for (let number = 1; number <= drills; number++) {
    const which = drills === 1 ? '' : ` (drill ${number} of ${drills})`;
    test(`charges each key once and refunds it once, and every response is true${which}`, async (t) => {
      const seed = seedOf(t);
      const options = { keys: keysPerDrill, words: allWords, singleUse: 'some' } as const;
      const findings = await runDrill(t, { seed, ...options, troubles: troublesOf(seed), settleMsMax });
      assertNothingFound(t, findings);
    });
  }

  test('uses up no single-use token when the reply to the creation of its payment method is lost', async (t) => {
    const seed = seedOf(t);
    const options = { keys: count({ short: 30, long: 300 }), words: inTime(lostMethodWords) };
    const findings = await runDrill(t, {
      seed,
      ...options,
      singleUse: 'all',
      troubles: ['storm'],
      settleMsMax,
    });
    const usedUp = findings.filter(({ kind }) => kind === 'token used up');
    t.diagnostic(`${usedUp.length} of ${options.keys} keys were used up`);
    assertNothingFound(t, findings);
  });

  test('the drill finds the double charges of a service whose HTTP client retries by itself', async (t) => {
    const seed = seedOf(t);
    const hook = join(import.meta.dirname, '../support/payments/resend.ts');
    const env = { NODE_OPTIONS: `--import ${hook}` };
    const words = pairWords.filter(({ word }) => /reset_after.*(429|401|403)$/.test(word));
    const options = { keys: 40, words, singleUse: 'some', troubles: [], isPatient: true } as const;
    const findings = await runDrill(t, { seed, ...options, settleMsMax, env });
    const kinds = new Set(findings.map(({ kind }) => kind));
    assert.ok(kinds.has('charged twice'), `found: ${[...kinds]}`);
  });
});

/** Every run has a storm and one other trouble; a long run has all troubles, in any order. */
function troublesOf(seed: number): Trouble[] {
  const random = randomFrom(seed + 1);
  const more = Array.from({ length: isLong ? 8 : 0 }, () =>
    pick(random, ['storm', 'pause', 'kill'] as const),
  );
  return ['storm', pick(random, ['pause', 'kill'] as const), ...more];
}

function assertNothingFound(t: TestContext, findings: readonly Finding[]): void {
  const byKind = Map.groupBy(findings, ({ kind }) => kind);
  for (const [kind, found] of byKind) t.diagnostic(`${kind}: ${found.length}`);
  assert.deepEqual(
    findings.map(({ kind, what }) => `${kind}: ${what}`),
    [],
  );
}

interface Drill {
  readonly seed: number;
  readonly keys: number;
  readonly words: readonly FaultWord[];
  readonly singleUse: SingleUse;
  readonly troubles: readonly Trouble[];
  /** The time in which the last keys must be settled. */
  readonly settleMsMax: number;
  /** Callers wait for every response and retry until it is final before anything is repaired: all faults are met. */
  readonly isPatient?: true;
  /** Environment variables of the service. */
  readonly env?: Readonly<Record<string, string>>;
}

/** `storm`: Stripe responds 429 for a while; `pause`: processes of the service are stopped and resumed. */
type Trouble = 'storm' | 'pause' | 'kill';

const callersAtOnce = 100;
/** A key is retried before the repair until it has so many responses, or for so long after the last trouble. */
const responsesBeforeRepair = 4;
const calmMs = 1_000;
const patienceMsMax = 1_000;
const repairedEveryMs = 500;
/** Longer than the service ever takes. */
const patienceMsAtEnd = 60_000;

/** Many callers charge at a service whose Stripe has every fault; then all is repaired and every key settled. */
async function runDrill(t: TestContext, drill: Drill): Promise<Finding[]> {
  const random = randomFrom(drill.seed);
  const charges = Array.from({ length: drill.keys }, (_, index) =>
    newCharge(random, index + 1, drill.words, drill.singleUse),
  );
  const workers = pick(random, [1, 2]);
  const stripe = await startStripeProcess(t);
  const data = newData(t);
  const processor = { COUNTERFOIL_STRIPE_KEY: stripe.key, COUNTERFOIL_STRIPE_API_BASE: stripe.origin };
  const env = { ...processor, ...unlimited(processor), ...drill.env };
  const authorization = `Bearer ${await adminKey(data)}`;
  const start = () => ServeProcess.start(t, { data, env, workers });

  let service = await start();
  let origin = await service.ready();
  const caller = new FaultCaller(random, () => origin, authorization);
  const restart = async () => {
    await service.kill();
    service = await start();
    origin = await service.ready();
  };
  let calmFrom = Infinity;
  const troubled = (async () => {
    for (let each = 0; each < drill.troubles.length; each++) {
      await sleep(between(random, 50, 400));
      if (drill.troubles[each] === 'storm') await storm(stripe, random);
      if (drill.troubles[each] === 'pause') await pause(service, random);
      if (drill.troubles[each] === 'kill') await restart();
    }
    calmFrom = performance.now();
  })();
  await inPool(charges, callersAtOnce, (charge) => {
    const goesOn = (responseCount: number) =>
      responseCount < responsesBeforeRepair &&
      (drill.isPatient === true || performance.now() < calmFrom + calmMs);
    const patienceMs = drill.isPatient ? patienceMsAtEnd : between(random, 300, patienceMsMax);
    return caller.pursue(charge, goesOn, patienceMs);
  });
  await troubled;
  const repairedAt = performance.now();

  await repairDuring(stripe, settle(caller, charges, drill.settleMsMax));
  const settledMs = Math.round(performance.now() - repairedAt);
  await service.terminate();
  const { length: lost } = charges.filter(({ finals }) => finals.size === 0);
  t.diagnostic(`${charges.length} keys, ${workers} processes, ${drill.troubles.join(' ')}`);
  t.diagnostic(
    `${caller.lost} requests without a response, ${lost} keys without a final response, ${settledMs} ms to settle`,
  );
  return findingsOf(charges, await stripe.records(), await paymentsIn(data));
}

/** Retries every charge and refund until its response is final, and sends it once more. */
async function settle(
  caller: FaultCaller,
  charges: readonly FaultCharge[],
  settleMsMax: number,
): Promise<void> {
  const giveUpAt = performance.now() + settleMsMax;
  await inPool(charges, charges.length, async (charge) => {
    // A charge that may stay open is tried twice; waiting longer changes nothing.
    const goesOn: GoesOn = (responseCount, ending) =>
      performance.now() < giveUpAt && (!mayStayOpen(ending) || responseCount < 2);
    await caller.pursue(charge, goesOn, patienceMsAtEnd);
    await caller.pay(charge, patienceMsAtEnd);
    if (charge.finals.has(200)) await caller.refund(charge, patienceMsAtEnd);
  });
}

/** Repairs repeatedly: a charge that Stripe starts to process after a repair is decided by the next one. */
async function repairDuring(stripe: StripeProcess, work: Promise<void>): Promise<void> {
  let isOver = false;
  const done = work.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await stripe.command({ repair: true });
    await Promise.race([done, sleep(repairedEveryMs)]);
  }
  await done;
}

async function storm(stripe: StripeProcess, random: Random): Promise<void> {
  await stripe.command({ set: { turnsAway: true } });
  await sleep(between(random, 100, 500));
  await stripe.command({ set: { turnsAway: false } });
}

/** Stops all processes, or one worker while the others serve its keys. */
async function pause({ pids, pid }: ServeProcess, random: Random): Promise<void> {
  const stopped = random() < 0.5 || pids.length === 1 ? pids : pids.filter((each) => each !== pid).slice(1);
  for (const each of stopped) process.kill(each, 'SIGSTOP');
  await sleep(between(random, 1_000, isLong ? 3_000 : 1_500));
  for (const each of stopped) process.kill(each, 'SIGCONT');
}

async function inPool<Element>(
  elements: readonly Element[],
  atOnce: number,
  work: (element: Element) => Promise<unknown>,
): Promise<void> {
  const waiting = [...elements].reverse();
  const workNext = async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await work(next);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, elements.length) }, workNext));
}

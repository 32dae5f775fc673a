import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { keepAliveMs } from '../../src/http/server/listener.ts';
import { responseStallMsMax } from '../../src/http/server/slow-connections.ts';
import { type AttackName, attackAddresses } from '../support/attacks/attack-request.ts';
import {
  assertFewDeclines,
  assertHolds,
  firstGood,
  honestRequestsMin,
  mebibytes,
  type Result,
  residentBytesMax,
  sum,
  summaryOf,
} from '../support/attacks/attack-result.ts';
import {
  type AttackedService,
  startAttacked,
  startAttackedWorkers,
  Watch,
} from '../support/attacks/attacked-service.ts';
import { Attacker } from '../support/attacks/attacker.ts';
import { callHonestly, Served } from '../support/attacks/honest-callers.ts';
import { proxyNames, startProxy } from '../support/attacks/proxies.ts';
import { busyMachineMs } from '../support/busy-machine.ts';
import { need } from '../support/conformance/needs.ts';
import { count, isLong, workers } from '../support/extent.ts';

/** Promises 14, 16 and 17: attackers cannot harm honest callers, directly or behind a proxy. */
const closedMsMax = 45_000;
const fronts = ['no proxy', ...proxyNames] as const;
type Front = (typeof fronts)[number];

/** How long a response may make no progress; with LONG it is the service's own bound. */
const stallMs = isLong ? responseStallMsMax : 1_000;
/** The bounds of the service, in the same proportion to each other; with LONG its own. */
const load = isLong
  ? {}
  : {
      requestsRunningMax: 200,
      connectionsMax: 250,
      requestsPerAddressMax: 60,
      connectionsPerAddressMax: 100,
    };

interface RevocationScope {
  readonly ms: number;
  readonly sockets: number;
  /** How long a connection or a response of the attack may last. */
  readonly lastsMsMax?: number;
}

const stalledMsMax = isLong ? closedMsMax : stallMs * 1.5 + busyMachineMs;
const attacks: Readonly<Record<AttackName, RevocationScope>> = {
  resets: { ms: count({ short: 1_000, long: 20_000 }), sockets: 8 },
  'worst texts': { ms: count({ short: 1_500, long: 20_000 }), sockets: 2 },
  'stalled readers': {
    ms: count({ short: 1_500, long: 40_000 }),
    sockets: count({ short: 100, long: 270 }),
    lastsMsMax: stalledMsMax,
  },
  // More than the service accepts at once from all callers together.
  'slow requests': { ms: count({ short: 1_800, long: 60_000 }), sockets: count({ short: 300, long: 6_000 }) },
  'large bodies without an end': {
    ms: count({ short: 1_800, long: 60_000 }),
    sockets: count({ short: 300, long: 6_000 }),
  },
  'card testing': { ms: count({ short: 1_000, long: 20_000 }), sockets: 2 },
  'a log flood': { ms: count({ short: 1_400, long: 20_000 }), sockets: 4 },
  // The system takes the whole response: to the service the connection is idle.
  'readers of one response': { ms: 1_000, sockets: 100, lastsMsMax: keepAliveMs + busyMachineMs },
};
/** nginx has 768 connections for each of its processes, to callers and to the service. */
const nginxSocketsMax = 350;
/** The time after which the service ends an idle connection is not tuned: a short run does not wait for it. */
const longOnly: ReadonlySet<AttackName> = new Set(isLong ? [] : ['readers of one response']);
const attackNames = (Object.keys(attacks) as AttackName[]).filter((name) => !longOnly.has(name));
/** By then the service has received all of the bodies. */
const largeMsMax = count({ short: 5_000, long: 20_000 });
const lookMs = count({ short: 100, long: 500 });

for (const front of fronts) {
  test(`serves honest callers during every attack, with ${front} in front`, async (t) => {
    if (front !== 'no proxy') need(front);
    const service = await startAttacked(t, { responseStallMs: stallMs, load });
    const origin = await originOf(t, front, service);
    const attacker = new Attacker(t);
    for (const name of attackNames) {
      await t.test(name, async (t) => {
        const scene = { service, attacker, front, origin };
        const result = await firstGood(t, () => attack(scene, name));
        assertHolds(result);
        if (name === 'card testing') assertFewDeclines(result.reports);
      });
    }
  });
}

test('bounds its memory during large bodies that never end, with its default limits', async (t) => {
  const service = await startAttacked(t, {});
  const { origin, keys } = service;
  const watch = new Watch(service, lookMs);
  const attacker = new Attacker(t);
  // More than the limit of concurrent requests of one address.
  await attacker.begin({ attacks: ['large bodies without an end'], origin, keys, sockets: 1_200 });
  const address = attackAddresses['large bodies without an end'];
  for (let ms = 0; ms < largeMsMax && watch.residentBytes <= residentBytesMax; ms += lookMs)
    await sleep(lookMs);
  const held = watch.countOf(address);
  await attacker.end();
  await watch.end();
  t.diagnostic(`${held} connections, ${mebibytes(watch.residentBytes)} MiB`);
  assert.ok(watch.residentBytes <= residentBytesMax, `${mebibytes(watch.residentBytes)} MiB of memory`);
});

const mixedMs = count({ short: 20_000, long: 5 * 60_000 });
/** With the default limits, a body has 13 s, and the service checks for late ones every second. */
const slowMsMax = 18_000;

test(`serves honest callers during all attacks at once, through every proxy, by ${workers} workers`, async (t) => {
  need(...proxyNames);
  const service = await startAttackedWorkers(t, workers);
  const origins = await Promise.all(fronts.map((front) => originOf(t, front, service)));
  const attackers = origins.map(() => new Attacker(t));
  const pids = service.pids();
  const result = await firstGood(t, () => attackAll(t, service, origins, attackers));
  assertHolds(result);
  assertFewDeclines(result.reports);
  const { watch } = result;
  assert.deepEqual([...watch.processes].toSorted(), pids.toSorted(), 'no worker has died');
  const slowMs = watch.longestMs(attackAddresses['slow requests']);
  assert.ok(slowMs > 0 && slowMs <= slowMsMax, `a slow request lasted ${slowMs} ms`);
  const stalledMs = watch.longestMs(attackAddresses['stalled readers']);
  assert.ok(stalledMs <= closedMsMax, `a stalled reader was connected for ${stalledMs} ms`);
  assert.equal((await fetch(`${service.origin}/readyz`)).status, 200);
});

/** Runs all attacks at once, directly and through each proxy, together with honest callers. */
async function attackAll(
  t: TestContext,
  service: AttackedService,
  origins: readonly string[],
  attackers: readonly Attacker[],
): Promise<Result> {
  const { keys } = service;
  const watch = new Watch(service, 500);
  const loggedBefore = service.logged().length;
  const over = new AbortController();
  for (const [index, origin] of origins.entries())
    await attackers[index]?.begin({ attacks: attackNames, origin, keys, sockets: 40, pauseMs: 50 });
  const honest = origins.map((origin) => callHonestly(origin, keys, over.signal));
  await sleep(mixedMs);
  over.abort();
  const served = await Promise.all(honest);
  const reports = await Promise.all(attackers.map((each) => each.end()));
  await watch.end();
  for (const [index, figures] of served.entries()) t.diagnostic(`${fronts[index]}: ${summaryOf(figures)}`);
  for (const name of attackNames)
    t.diagnostic(`${name}: connections of up to ${Math.round(watch.longestMs(attackAddresses[name]))} ms`);
  const log = service.logged().slice(loggedBefore);
  return { honest: sum(served), reports, watch, log, ms: mixedMs, processes: service.pids().length };
}

async function originOf(t: TestContext, front: Front, { origin }: AttackedService): Promise<string> {
  return front === 'no proxy' ? origin : startProxy(t, front, origin);
}

interface Scene {
  readonly service: AttackedService;
  readonly attacker: Attacker;
  readonly front: Front;
  readonly origin: string;
}

/** Runs one attack together with honest callers, until the connections of the attack are closed too. */
async function attack({ service, attacker, front, origin }: Scene, name: AttackName): Promise<Result> {
  const { ms, sockets, lastsMsMax } = attacks[name];
  const watch = new Watch(service, lookMs);
  const loggedBefore = service.logged().length;
  const began = performance.now();
  const over = new AbortController();
  await attacker.begin({
    attacks: [name],
    origin,
    keys: service.keys,
    sockets: front === 'nginx' ? Math.min(sockets, nginxSocketsMax) : sockets,
  });
  const honest = new Served();
  const calling = callHonestly(origin, service.keys, over.signal, honest);
  try {
    await sleep(ms);
    if (lastsMsMax !== undefined && front === 'no proxy') await closed(watch, name, lastsMsMax);
    for (let n = 0; n < busyMachineMs && honest.sent < honestRequestsMin; n += lookMs) await sleep(lookMs);
  } finally {
    over.abort();
    await watch.end();
  }
  const reports = [await attacker.end()];
  await calling;
  const log = service.logged().slice(loggedBefore);
  return { honest, reports, watch, log, ms: performance.now() - began, processes: 1 };
}

/** Waits until the connections of an attack are closed. Only without a proxy, which hides whose a connection is. */
async function closed(watch: Watch, name: AttackName, msMax: number): Promise<void> {
  const address = attackAddresses[name];
  const giveUpAt = performance.now() + msMax;
  for (let held = watch.countOf(address); held > 0; held = watch.countOf(address)) {
    assert.ok(performance.now() < giveUpAt, `${held} connections of ${name} are still there`);
    await sleep(lookMs);
  }
}

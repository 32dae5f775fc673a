import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { longResponsesPerAddressMax } from '../../src/http/response/stream-items.ts';
import { responseStallMsMax } from '../../src/http/server/slow-connections.ts';
import { connectionsOf } from '../support/attacks/connections.ts';
import { need } from '../support/conformance/needs.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';

/** Promise 16: callers who send or read as slowly as possible do not harm others. */
const attackers = 1_000;
/** The time until all attackers are connected. */
const rampSeconds = 4;
/** The interval at which connections are sampled. */
const lookMs = 250;
const honestPauseMs = 5;
const servedPartMin = 0.999;
/** The promise is 100 ms, which the diagnostic shows. The bound is longer, because a busy machine is not a failure. */
const honestMsMax = 500;
/** The response that is read slowly is longer than the socket buffers. */
const itemCount = 20;
const itemCharacters = 390_000;

interface Mode {
  /** Options of slowhttptest. In each mode it tries to hold its sockets during the whole attack. */
  readonly options: readonly string[];
  readonly seconds: number;
  readonly closedMsMax: number;
  /** The least number of sockets that are held at first. */
  readonly heldMin: number;
}

const neverEnding = { seconds: 22, closedMsMax: 15_000, heldMin: attackers / 10 };
const modes: Readonly<Record<string, Mode>> = {
  'headers that never end': { ...neverEnding, options: ['-H', '-i', '2'] },
  'bodies that never end': {
    ...neverEnding,
    options: ['-B', '-i', '2', '-s', '8192', '-f', 'application/json'],
  },
  'responses that are not read': {
    options: ['-X', '-w', '64', '-y', '128', '-n', '3', '-z', '16', '-k', '2'],
    seconds: responseStallMsMax / 1_000 + rampSeconds + 10,
    closedMsMax: responseStallMsMax + 10_000,
    // The others are rejected at once as overloaded.
    heldMin: longResponsesPerAddressMax,
  },
};

for (const [what, { options, seconds, closedMsMax, heldMin }] of Object.entries(modes)) {
  test(`serves honest callers during ${attackers} connections with ${what}, and closes those`, async (t) => {
    need('slowhttptest');
    const env = { COUNTERFOIL_LIMIT_REQUESTS: '1000000' };
    const service = await ServeProcess.start(t, { data: newData(t), env, simulate: true, shedsLate: true });
    const origin = await service.ready();
    await fill(origin);

    const watching = new AbortController();
    const attack = spawn('slowhttptest', [
      ...['-c', `${attackers}`, '-r', `${attackers / rampSeconds}`, '-l', `${seconds}`, '-p', '5'],
      ...options,
      ...[
        '-v',
        '0',
        '-u',
        `${origin}${options[0] === '-B' ? '/v3/table/small/create' : '/v3/table/large/read'}`,
      ],
    ]);
    const [longest, honest] = await Promise.all([
      longestConnection(service, attack.pid as number, watching.signal),
      callHonestly(origin, watching.signal),
      once(attack, 'exit').then(() => watching.abort()),
      text(attack.stderr),
    ]);
    t.diagnostic(
      `${honest.ms.length} honest requests, p99 ${p99(honest.ms)} ms, sockets lasted ${longest.ms} ms`,
    );
    assert.ok(longest.seen >= heldMin, `${longest.seen} attackers were connected`);
    assert.ok(
      honest.served / honest.ms.length >= servedPartMin,
      `${honest.served} of ${honest.ms.length} served`,
    );
    assert.ok(median(honest.ms) <= honestMsMax, `median ${median(honest.ms)} ms`);
    assert.ok(longest.ms <= closedMsMax, `a socket lasted ${longest.ms} ms`);
    assert.equal((await fetch(`${origin}/readyz`)).status, 200);
  });
}

async function fill(origin: string): Promise<void> {
  const create = async (table: string, id: string, name: string) => {
    const body = JSON.stringify({ id, name });
    const headers = { 'content-type': 'application/json' };
    const { status } = await fetch(`${origin}/v3/table/${table}/create`, { method: 'POST', headers, body });
    assert.equal(status, 200);
  };
  for (let n = 0; n < itemCount; n++) await create('large', `${n}`, 'x'.repeat(itemCharacters));
  await create('small', 'a', 'Alpha');
}

/** The time of the longest connection of the attackers to the service, and the number of these connections. */
async function longestConnection(service: ServeProcess, attackerPid: number, signal: AbortSignal) {
  const attacking = new Set<number>();
  const since = new Map<number, number>();
  let ms = 0;
  while (!signal.aborted) {
    for (const { localPort } of connectionsOf(attackerPid)) attacking.add(localPort);
    const now = performance.now();
    for (const { remotePort } of connectionsOf(service.pid)) {
      if (!attacking.has(remotePort)) continue;
      const first = since.get(remotePort) ?? now;
      since.set(remotePort, first);
      ms = Math.max(ms, Math.round(now - first));
    }
    await sleep(lookMs);
  }
  return { ms, seen: since.size };
}

/** One request after the other, as an honest caller with one connection sends them. */
async function callHonestly(origin: string, signal: AbortSignal) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ms: number[] = [];
  let served = 0;
  while (!signal.aborted) {
    const began = performance.now();
    if (await isServed(`${origin}/v3/table/small/read`, agent)) served++;
    ms.push(Math.round(performance.now() - began));
    await sleep(honestPauseMs);
  }
  agent.destroy();
  return { ms, served };
}

function isServed(url: string, agent: Agent): Promise<boolean> {
  return new Promise((resolve) => {
    const sent = get(url, { agent }, (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode === 200)).once('error', () => resolve(false));
    });
    sent.once('error', () => resolve(false));
  });
}

function median(figures: readonly number[]): number {
  return figures.toSorted((one, other) => one - other)[Math.floor(figures.length / 2)] ?? 0;
}

function p99(figures: readonly number[]): number {
  return figures.toSorted((one, other) => one - other)[Math.floor(figures.length * 0.99)] ?? 0;
}

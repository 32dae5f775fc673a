import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { busyMachineMs } from '../support/busy-machine.ts';
import { ScriptedOidc } from '../support/oidc/scripted-oidc.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';
import { openStoreOf } from '../support/service.ts';
import { isSignedIn, publicUrl, registerPath, sendJson, signInAt } from '../support/sign-in/app.ts';
import { Browser } from '../support/sign-in/browser.ts';
import { credentials, signInPath } from '../support/sign-in/signing-in.ts';

const isLong = process.env.LONG === '1';
const begins = isLong ? 100_000 : 5_000;
/** Slow enough for any limit on the sign-ins of one address. */
const honestPauseMs = isLong ? 3_000 : 250;
const honestMsMax = 1_000;
/** How much a heap without leaks may grow between two collections. */
const memoryGrowthBytesMax = 96 * 1024 * 1024;

test('sign-ins that are never finished leave no records, and memory does not grow', async (t) => {
  const { service, origin, data } = await start(t, { COUNTERFOIL_LIMIT_SIGN_INS: '0' });
  const flood = new Begins(origin + signInPath);
  t.after(() => flood.close());
  // The heap grows to the size that the load needs, and stays there.
  await flood.many(begins / 5);
  const before = residentBytes(service.pid);
  const statuses = await flood.many(begins);
  const growth = residentBytes(service.pid) - before;
  assert.deepEqual([...statuses], [[303, begins]]);
  assert.ok(growth < memoryGrowthBytesMax, `${Math.round(growth / 1024)} KiB more`);
  assert.equal(await service.terminate(), 0);

  const engine = await openStoreOf(data);
  t.after(() => engine.close());
  const facts = await engine.describe('service:one-time-ids');
  assert.equal(facts?.count ?? 0, 0, 'records of unfinished sign-ins');
});

test('a flood of sign-ins from one address does not block another address', async (t) => {
  const { origin } = await start(t, {});
  const flood = new Begins(origin + signInPath);
  const honest = new Begins(origin + signInPath, '127.0.0.2', 1);
  t.after(() => {
    flood.close();
    honest.close();
  });
  let isOver = false;
  const flooding = flood.many(begins).finally(() => {
    isOver = true;
  });
  let slowestMs = 0;
  let served = 0;
  do {
    const beganAt = performance.now();
    const { status } = await honest.one();
    assert.equal(status, 303, `after ${served} sign-ins`);
    served++;
    slowestMs = Math.max(slowestMs, performance.now() - beganAt);
    await Promise.race([sleep(honestPauseMs), flooding]);
  } while (!isOver);
  await flooding;
  // The sign-ins of the flood stay pending for ten minutes.
  assert.equal((await honest.one()).status, 303, 'after the flood');
  assert.ok(served > 0 && slowestMs < honestMsMax + busyMachineMs, `${slowestMs} ms`);
  assert.equal((await fetch(`${origin}/readyz`)).status, 200);
});

test('a sign-in that began before a flood finishes after it', async (t) => {
  const { origin } = await start(t, { COUNTERFOIL_LIMIT_SIGN_INS: '0' });
  const browser = new Browser();
  const { url } = await browser.follow(origin + signInPath, (next) => next.includes('/callback?'));
  const flood = new Begins(origin + signInPath);
  t.after(() => flood.close());
  await flood.many(begins / 5);
  assert.equal((await browser.open(url.replace(publicUrl, origin))).status, 303);
  assert.equal(await isSignedIn(origin, browser), true);
  await signInAt(origin, new Browser(), signInPath);
});

async function start(t: TestContext, more: Record<string, string>) {
  const provider = await ScriptedOidc.start(t);
  const data = newData(t);
  const env = { COUNTERFOIL_PUBLIC_URL: publicUrl, ...more };
  const service = await ServeProcess.start(t, { data, env });
  const origin = await service.ready();
  const fields = { ...credentials, IDP_ISSUER: provider.issuer };
  assert.equal((await sendJson(origin + registerPath, 'POST', fields)).status, 200);
  return { service, origin, data };
}

/** The resident memory as Linux reports it, and 0 on other systems. */
function residentBytes(pid: number): number {
  try {
    const pages = readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1];
    return Number(pages) * 4_096;
  } catch {
    return 0;
  }
}

interface Begun {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

/** Begins sign-ins from one address of this machine, over a few connections that stay open. */
class Begins {
  readonly #url: string;
  readonly #agent: Agent;
  readonly #localAddress: string;

  constructor(url: string, localAddress = '127.0.0.1', connections = 16) {
    this.#url = url;
    this.#localAddress = localAddress;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  one(headers: Record<string, string> = {}): Promise<Begun> {
    const options = { agent: this.#agent, localAddress: this.#localAddress, headers };
    return new Promise((resolve, reject) => {
      const sent = request(this.#url, options, (response) => {
        response.resume();
        response.on('end', () =>
          resolve({ status: response.statusCode as number, headers: response.headers }),
        );
        response.on('error', reject);
      });
      sent.on('error', reject);
      sent.end();
    });
  }

  /** Begins `count` sign-ins, with `atOnce` concurrent requests. @returns how often each status was returned */
  async many(count: number, atOnce = 16): Promise<Map<number, number>> {
    const counts = new Map<number, number>();
    let left = count;
    const send = async () => {
      while (left-- > 0) {
        const { status } = await this.one();
        counts.set(status, (counts.get(status) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, send));
    return counts;
  }

  close(): void {
    this.#agent.destroy();
  }
}

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { givenUpMs } from '../support/busy-machine.ts';
import { newDataFolder } from '../support/service.ts';

const program = join(import.meta.dirname, '../../src/cli/counterfoil.ts');
const unhurried = join(import.meta.dirname, '../support/unhurried.ts');
const path = '/v3/table/books';

test('every worker reads immediately what another one has written', async (t) => {
  const { clients } = await startWorkers(t, 3);
  for (let n = 0; n < 300; n++) {
    const [writer, reader, finder] = [0, 1, 2].map(
      (k) => clients[(n * (k + 1) + k) % clients.length] as Client,
    );
    const written = await writer?.('POST', `${path}/create`, { id: `id-${n}`, name: `${n}` });
    assert.equal(written?.status, 200);
    const all = await reader?.('GET', `${path}/read`);
    assert.equal(all?.json.body.length, n + 1);
    const one = await finder?.('GET', `${path}/read?id=id-${n}`);
    assert.deepEqual(one?.json.body, { id: `id-${n}`, name: `${n}` });
  }
});

test('creates an id once when several workers are asked to', async (t) => {
  const { clients } = await startWorkers(t, 3);
  for (let round = 0; round < 5; round++) {
    const responses = await Promise.all(
      Array.from({ length: 64 }, (_, n) =>
        (clients[n % clients.length] as Client)('POST', `${path}/create`, {
          id: `one-${round}`,
          name: `${n}`,
        }),
      ),
    );
    const statuses = responses.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [200, ...Array.from({ length: 63 }, () => 409)]);
  }
});

test('charges once for one key when several workers share one simulated processor', async (t) => {
  const { clients } = await startWorkers(t, 2);
  const responses = await Promise.all(
    clients.map((client) =>
      client(
        'POST',
        '/stage/payment/simulated/charge',
        { amount: 100, currency: 'EUR', token: 'tok_slow' },
        { 'idempotency-key': 'order-1' },
      ),
    ),
  );
  assert.deepEqual([...new Set(responses.map(({ status }) => status))], [200]);
  assert.equal(new Set(responses.map(({ json }) => json.body.message.charge_id)).size, 1);
});

test('replaces a worker that dies, and keeps every write that returned 200', async (t) => {
  const { child, newClient, workers, logged } = await startWorkers(t, 2);
  const before = workers();
  const written: string[] = [];
  let isWriting = true;
  const writers = Array.from({ length: 8 }, async (_, writer) => {
    for (let n = 0; isWriting; n++) {
      const id = `w${writer}-${n}`;
      const response = await newClient()('POST', `${path}/create`, { id, name: 'x' }).catch(() => undefined);
      if (response?.status === 200) written.push(id);
    }
  });
  await sleep(300);
  process.kill(before[0] as number, 'SIGKILL');
  await waitFor(() => workers().length === 2 && !workers().includes(before[0] as number));
  await sleep(300);
  isWriting = false;
  await Promise.all(writers);
  assert.match(logged(), /"detail":"SIGKILL","event":"worker_died"/);
  const { json } = await newClient()('GET', `${path}/read`);
  const found = new Set(json.body.map(({ id }: { id: string }) => id));
  assert.deepEqual(
    written.filter((id) => !found.has(id)),
    [],
  );
  assert.equal(child.exitCode, null);
});

test('once the service is ready, no connection reaches a worker that is not, also while one is replaced', async (t) => {
  const { newClient, workers, origin } = await startWorkers(t, 2);
  const [statuses, failures] = [new Map<number, number>(), [] as string[]];
  let isAsking = true;
  const asking = Array.from({ length: 4 }, async () => {
    // A new connection each time: the kernel chooses the worker. A killed one resets those that it had.
    while (isAsking) {
      const agent = new Agent();
      const response = await send(agent, 'GET', `${origin}/readyz`, undefined).catch(() => undefined);
      if (response === undefined) continue;
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      if (response.status !== 200) failures.push(JSON.stringify(response.json));
    }
  });
  for (let kills = 0; kills < 3; kills++) {
    const [oldest] = workers();
    process.kill(oldest as number, 'SIGKILL');
    await waitFor(() => workers().length === 2 && !workers().includes(oldest as number));
    await waitForReady(newClient, 10);
  }
  isAsking = false;
  await Promise.all(asking);
  assert.deepEqual(failures.slice(0, 3), [], JSON.stringify([...statuses]));
  assert.ok((statuses.get(200) ?? 0) > 20);
});

test('stops all workers at SIGTERM, and exits with status 0', async (t) => {
  const { child, workers } = await startWorkers(t, 3);
  const pids = workers();
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  assert.deepEqual(await exit, [0, null]);
  assert.deepEqual(pids.filter(isAlive), []);
});

test('leaves no worker running when the primary process is killed', async (t) => {
  const { child, workers } = await startWorkers(t, 2);
  const pids = workers();
  child.kill('SIGKILL');
  await waitFor(() => !pids.some(isAlive));
});

test('reports why no worker can start, and exits with 2 for a wrong option and 1 for a taken port', async (t) => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  t.after(() => taken.close());
  const port = String((taken.address() as { port: number }).port);
  for (const [args, env, status, message] of [
    [['--workers', '2'], { PORT: port }, 1, /another program already listens there/],
    [['--workers', '0'], {}, 2, /--workers: must be "auto" or a number from 1 to 128/],
    [['--workers', 'many'], {}, 2, /--workers: must be/],
  ] as const) {
    const child = spawnProgram(t, args, env);
    const stderr = readText(child.stderr);
    assert.deepEqual(await once(child, 'exit'), [status, null]);
    assert.match(await stderr, message);
  }
});

test('logs the signal that killed a worker before it was ready, and exits with 1', async (t) => {
  const kill = "if(process.argv[2]==='worker')process.kill(process.pid,'SIGKILL')";
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(kill)}` };
  const child = spawnProgram(t, ['--workers', '2'], env);
  const stderr = readText(child.stderr);
  assert.deepEqual(await once(child, 'exit'), [1, null]);
  assert.match(await stderr, /"detail":"a worker ended by SIGKILL before it was ready"/);
});

type Client = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
) => Promise<{ readonly status: number; readonly json: any }>;

/** Each client has its own connection, because connections are given to the workers in turn. */
async function startWorkers(t: TestContext, count: number) {
  const child = spawnProgram(t, ['--simulate', '--workers', String(count)], {});
  let log = '';
  child.stderr.on('data', (text) => {
    log += String(text);
  });
  let ready = '';
  for await (const text of child.stdout) {
    ready += String(text);
    if (ready.includes('\n')) break;
  }
  const origin = new RegExp(`^Counterfoil is ready on (http://127.0.0.1:\\d+), ${count} workers`).exec(
    ready,
  )?.[1];
  assert.ok(origin !== undefined, `${ready}${log}`);
  const agents: Agent[] = [];
  t.after(() => {
    for (const agent of agents) agent.destroy();
  });
  const newClient = (): Client => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    agents.push(agent);
    return (method, target, body, headers) => send(agent, method, origin + target, body, headers);
  };
  const workers = () => childrenOf(child.pid as number);
  return {
    child,
    origin,
    newClient,
    workers,
    clients: Array.from({ length: 3 * count }, newClient),
    logged: () => log,
  };
}

function spawnProgram(t: TestContext, args: readonly string[], env: Record<string, string>) {
  const cwd = mkdtempSync(join(tmpdir(), 'counterfoil-workers-'));
  const child = spawn(process.execPath, [program, 'serve', ...args], {
    cwd,
    env: { PORT: '0', COUNTERFOIL_DATA: newDataFolder(t), NODE_OPTIONS: `--import=${unhurried}`, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => {
    child.kill('SIGKILL');
    rmSync(cwd, { recursive: true, force: true });
  });
  return child;
}

async function send(agent: Agent, method: string, url: string, body: unknown, headers = {}) {
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const sent = request(url, { agent, method, headers: { ...type, ...headers } });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = await once(sent, 'response');
  return { status: response.statusCode as number, json: JSON.parse(await readText(response)) };
}

function childrenOf(pid: number): number[] {
  const list = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return list === '' ? [] : list.split(' ').map(Number);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Waits until so many new connections in a row have reached a worker that is ready. */
async function waitForReady(newClient: () => Client, count: number): Promise<void> {
  for (let inARow = 0; inARow < count; ) {
    const response = await newClient()('GET', '/readyz').catch(() => undefined);
    inARow = response?.status === 200 ? inARow + 1 : 0;
  }
}

async function waitFor(isSo: () => boolean): Promise<void> {
  for (const giveUpAt = Date.now() + givenUpMs; Date.now() < giveUpAt; ) {
    if (isSo()) return;
    await sleep(50);
  }
  assert.fail(`the condition did not hold within ${givenUpMs} ms`);
}

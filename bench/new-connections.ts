import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Callers that open a connection for each request while attackers keep a server busy. They and the attackers run as programs
 * of their own, from different addresses of this machine.
 *
 * Usage: node bench/new-connections.ts LOAD   where LOAD is a `ConnectionLoad` in JSON; prints `ConnectionTimes` in JSON
 */
export interface ConnectionLoad {
  readonly origin: string;
  /** The head of the request, without its last empty line. */
  readonly head: string;
  readonly bodyBytes: number;
  /** The local addresses of the connections, in turn. */
  readonly addresses: readonly string[];
  /** Attackers: connections that send one request after the other. */
  readonly connections?: number;
  /** Honest callers: a new connection so often, for one request. */
  readonly everyMs?: number;
  readonly seconds: number;
}

/** From the first packet of each connection to the end of the response, for honest callers; the number of each status. */
export interface ConnectionTimes {
  readonly ms: readonly number[];
  readonly statuses: Readonly<Record<string, number>>;
}

/** A caller that has no response by then counts with the time that it has waited. */
const patienceMs = 5_000;

export function connectionLoad(argument: string): ConnectionLoad {
  return JSON.parse(argument) as ConnectionLoad;
}

/** One connection; `onResponse` returns whether it sends the request again. */
function open(load: ConnectionLoad, number: number, onResponse: (status: string) => boolean): Promise<void> {
  const { hostname, port, host } = new URL(load.origin);
  const length = load.bodyBytes > 0 ? `Content-Length: ${load.bodyBytes}\r\n` : '';
  const body = load.bodyBytes > 0 ? `"${'x'.repeat(load.bodyBytes - 2)}"` : '';
  const request = Buffer.from(`${load.head}\r\nHost: ${host}\r\n${length}\r\n${body}`);
  const localAddress = load.addresses[number % load.addresses.length] as string;
  const socket = connect({ host: hostname, port: Number(port), localAddress });
  let head = '';
  /** Bytes of the response's body that have not arrived; -1 before its head. */
  let missing = -1;
  socket.on('connect', () => socket.write(request));
  socket.on('data', (bytes) => {
    let rest = bytes;
    if (missing < 0) {
      head += rest.toString('latin1');
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      missing = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
      rest = Buffer.from(head.slice(end + 4), 'latin1');
    }
    missing -= rest.length;
    if (missing > 0) return;
    const status = head.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length);
    [head, missing] = ['', -1];
    if (onResponse(status)) socket.write(request);
    else socket.end();
  });
  return new Promise((resolve) => {
    socket.once('error', () => resolve()).once('close', () => resolve());
  });
}

async function attack(load: ConnectionLoad, note: (status: string) => void): Promise<void> {
  const end = performance.now() + load.seconds * 1_000;
  const isOver = () => performance.now() >= end;
  const attackers = Array.from({ length: load.connections ?? 0 }, async (_, number) => {
    while (!isOver())
      await open(load, number, (status) => {
        note(status);
        return !isOver() && !/^connection: close/im.test(load.head);
      });
  });
  await Promise.race([Promise.all(attackers), sleep(load.seconds * 1_000)]);
}

async function callHonestly(
  load: ConnectionLoad,
  everyMs: number,
  note: (status: string) => void,
): Promise<number[]> {
  const end = performance.now() + load.seconds * 1_000;
  const ms: number[] = [];
  const callers: Promise<unknown>[] = [];
  for (let number = 0; performance.now() < end; number++) {
    const began = performance.now();
    const responded = open(load, number, (status) => {
      ms[number] = performance.now() - began;
      note(status);
      return false;
    });
    ms[number] = patienceMs;
    callers.push(Promise.race([responded, sleep(patienceMs)]));
    await sleep(everyMs);
  }
  await Promise.all(callers);
  return ms;
}

if (import.meta.main) {
  const load = connectionLoad(process.argv[2] ?? '');
  const statuses: Record<string, number> = {};
  const note = (status: string) => {
    statuses[status] = (statuses[status] ?? 0) + 1;
  };
  const { everyMs } = load;
  const ms = everyMs === undefined ? [] : await callHonestly(load, everyMs, note);
  if (everyMs === undefined) await attack(load, note);
  process.stdout.write(JSON.stringify({ ms, statuses } satisfies ConnectionTimes), () => process.exit());
}

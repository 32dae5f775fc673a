import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Case } from '../case.ts';
import { shortNumber } from '../measure.ts';
import { newKey, startService } from '../servers.ts';

const requestsPerSide = 100_000;
/** Something else than the check delays the slowest responses; without them the test sees smaller differences. */
const fastestShare = 0.9;

/**
 * Whether the time of a 401 response reveals that a key id exists: Welch's t between unknown ids and wrong secrets of
 * a known id, in random order (after Reparaz, Balasch and Verbauwhede, "Dude, is my code constant time?", whose bound
 * is 4.5).
 */
export const keyTiming: Case = {
  name: 'key-timing',
  summary: `compares the times for an unknown key and for a wrong secret, with ${requestsPerSide.toLocaleString('en')} requests each`,

  async measure(environment, conditions) {
    const data = join(environment.folder, 'data');
    const key = await newKey(environment, data, ['admin']);
    const settings = { COUNTERFOIL_LIMIT_REQUESTS: '0', COUNTERFOIL_LOG_LEVEL: 'silent' };
    const { origin } = await startService(environment, conditions, data, settings);
    const known = key.slice(0, key.indexOf('.'));
    const ts: number[] = [];
    const remarks: string[] = [];
    for (let round = 1; round <= conditions.rounds; round++) {
      const times = await measureTimes(origin, known);
      const [unknown, wrong] = fastestOf(times);
      ts.push(Math.abs(welch(unknown, wrong)));
      const raw = Math.abs(welch(sampleOf(times.unknown), sampleOf(times.wrong)));
      const summary = `unknown ${shortNumber(unknown.mean)} µs, wrong ${shortNumber(wrong.mean)} µs, t ${ts.at(-1)?.toFixed(2)}, of all responses ${raw.toFixed(2)}`;
      conditions.log(`  round-${round}: ${summary}`);
      remarks.push(`Round ${round}: ${summary}.`);
    }
    return {
      rows: [
        {
          name: 'unknown key against wrong secret, |t|',
          unit: 't',
          ours: ts,
          goal: { of: 'figure', side: 'most', bound: 4.5 },
        },
      ],
      remarks,
    };
  },
};

interface Times {
  /** Microseconds. */
  readonly unknown: number[];
  readonly wrong: number[];
}

async function measureTimes(origin: string, known: string): Promise<Times> {
  const { hostname, port, host } = new URL(origin);
  const socket = connect(Number(port), hostname).setNoDelay();
  await once(socket, 'connect');
  const times: Times = { unknown: [], wrong: [] };
  while (times.unknown.length < requestsPerSide || times.wrong.length < requestsPerSide) {
    const [choice, ...random] = randomBytes(41) as unknown as [number, ...number[]];
    const bytes = Buffer.from(random);
    const isKnown = choice % 2 === 0;
    // Both kinds of requests are built by the same code, so that only the service can make a difference.
    const id = `cfk_${bytes.subarray(0, 8).toString('hex')}`;
    const secret = bytes.subarray(8).toString('base64url').padEnd(43, 'A').slice(0, 43);
    const authorization = `Bearer ${isKnown ? known : id}.${secret}`;
    // Encoded before the clock starts, so that the time to build the text is not measured.
    const request = Buffer.from(
      `GET /v3/table/a/read HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${authorization}\r\n\r\n`,
    );
    const began = process.hrtime.bigint();
    const response = await exchange(socket, request);
    const took = Number(process.hrtime.bigint() - began) / 1_000;
    if (!response.startsWith('HTTP/1.1 401')) throw new Error(`expected a 401: ${response}`);
    times[isKnown ? 'wrong' : 'unknown'].push(took);
  }
  socket.destroy();
  return times;
}

function exchange(socket: Socket, request: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    socket.once('data', (bytes: Buffer) => resolve(bytes.toString('latin1')));
    socket.once('close', () => reject(new Error('the connection has ended')));
    socket.write(request);
  }).finally(() => socket.removeAllListeners('close')) as Promise<string>;
}

interface Sample {
  readonly count: number;
  readonly mean: number;
  readonly variance: number;
}

/** The fastest share of all responses. Both sides have the same bound, because two bounds could make them differ. */
function fastestOf({ unknown, wrong }: Times): readonly [Sample, Sample] {
  const sorted = [...unknown, ...wrong].sort((one, other) => one - other);
  const bound = sorted[Math.floor(sorted.length * fastestShare)] as number;
  const within = (times: readonly number[]) => sampleOf(times.filter((time) => time < bound));
  return [within(unknown), within(wrong)];
}

function sampleOf(times: readonly number[]): Sample {
  const count = times.length;
  const mean = times.reduce((sum, time) => sum + time, 0) / count;
  const variance = times.reduce((sum, time) => sum + (time - mean) ** 2, 0) / (count - 1);
  return { count, mean, variance };
}

function welch(a: Sample, b: Sample): number {
  return (a.mean - b.mean) / Math.sqrt(a.variance / a.count + b.variance / b.count);
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { Case, Conditions, Measured, Row } from '../case.ts';
import { holdEach, whyNotHeld } from '../core-share.ts';
import { dynamoEnvironment, missingDynamo, startDynamo, startSlowEngine } from '../dynamodb.ts';
import type { Environment } from '../environment.ts';
import { firstVersion, idNumber, idText, nameText, takeStream } from '../items.ts';
import { compareInRounds, countText, type Round } from '../measure.ts';
import { anonymousMegabytes, peakDuring, processesOf } from '../memory.ts';
import { readOnce, timeReads } from '../reading.ts';
import { type Server, serviceFile, startService } from '../servers.ts';
import { sourceFile } from '../source-file.ts';
import { itemBody, putUnderLoad, usualConnections } from '../wrk.ts';

/** What the service adds to a remote engine, and what several processes of it gain. */
export const dynamodb: Case = {
  name: 'dynamodb',
  summary: 'creates and reads on DynamoDB, and in several processes',

  async measure(environment, conditions) {
    const rows: Row[] = [];
    const missing = missingDynamo();
    if (missing === undefined) rows.push(...(await measureLocal(environment, conditions)));
    else rows.push({ name: 'create on DynamoDB Local', missing, goal: atLeast(0.85) });
    rows.push(...(await measureProcesses(environment, conditions)));
    return { rows, remarks } satisfies Measured;
  },
};

const remarks = [
  'DynamoDB Local, client and service share the cores; the SDK is used by a program of its own.',
  'Several processes share an engine that responds to every write after 5 ms and stores nothing (`slow-engine.ts`). One ' +
    'process takes more than a core, so that on two cores the load leaves too little for three; limited to a part of a ' +
    'core each, they show their gain on machines of their own.',
];
const segments = 4;
const scanned = 100_000;
const processes = 3;
/** The share of a core that each process may use: the rest of two cores runs the load and the engine. */
const heldTo = 0.3;
/** For each of these processes: with more connections, requests only wait longer. */
const heldConnections = 16;
const atLeast = (bound: number) => ({ of: 'ratio', side: 'least', bound }) as const;

async function measureLocal(environment: Environment, conditions: Conditions): Promise<Row[]> {
  const endpoint = await startDynamo(environment);
  const env = dynamoEnvironment(endpoint);
  await environment.run(process.execPath, [serviceFile, 'store', 'init'], { env });
  const service = await startService(environment, conditions, undefined, env);
  await fill(service, 'large', scanned);
  await fill(service, 'sdk', 1);
  return [
    await measureCreate(environment, conditions, endpoint, service),
    ...(await measureRead(environment, conditions, endpoint, service)),
  ];
}

async function measureCreate(
  environment: Environment,
  conditions: Conditions,
  endpoint: string,
  service: Server,
): Promise<Row> {
  const figures = await compareInRounds(conditions, {
    'the SDK': ({ seconds }) => sdk(environment, endpoint, ['bench-sdk', 'put', usualConnections, seconds]),
    ours: (round) => creates(environment, service, 'ours', round),
  });
  return {
    name: `create on DynamoDB Local, ${usualConnections} connections`,
    unit: 'requests/s',
    ours: figures.ours,
    yardstick: { name: "the SDK's own conditional PutItem", figures: figures['the SDK'] },
    goal: atLeast(0.85),
  };
}

async function measureRead(
  environment: Environment,
  conditions: Conditions,
  endpoint: string,
  service: Server,
): Promise<Row[]> {
  const url = `${service.origin}/v3/table/large/read`;
  const { bytes: bodyBytes } = await readOnce(url, scanned);
  const owned = processesOf(service.program.child.pid);
  const before = anonymousMegabytes(owned);
  const peaks: number[] = [];
  const figures = await compareInRounds(conditions, {
    'the SDK': () => sdk(environment, endpoint, ['bench-large', 'scan', segments, scanned]),
    ours: async ({ number }) => {
      let responseMs = 0;
      const reading = timeReads(environment, { url, connections: 1, seconds: 1, bodyBytes }).then(
        (reading) => {
          responseMs = reading.responseMs;
        },
      );
      const peak = await peakDuring(owned, reading);
      if (number > 0) peaks.push(peak - before);
      return responseMs;
    },
  });
  const name = `read ${countText(scanned)} items of DynamoDB Local`;
  return [
    {
      name,
      unit: 'ms',
      ours: figures.ours,
      yardstick: { name: "the SDK's own parallel scan, collecting", figures: figures['the SDK'] },
      goal: { of: 'ratio', side: 'most', bound: 1.3 },
    },
    { name: `${name}: memory`, unit: 'MB', ours: peaks, goal: { of: 'figure', side: 'most', bound: 128 } },
  ];
}

async function measureProcesses(environment: Environment, conditions: Conditions): Promise<Row[]> {
  const endpoint = await startSlowEngine(environment);
  const env = dynamoEnvironment(endpoint);
  const run = async (workers: number, round: Round, cores?: number) => {
    const more = { ...conditions, serveArguments: ['--workers', String(workers)] };
    const service = await startService(environment, more, undefined, env);
    let releaseItem: (() => void) | undefined;
    try {
      // Warms up the new process: Node has compiled nothing yet.
      await creates(environment, service, 'warm', { ...round, seconds: 2 }, usualConnections * workers);
      if (cores === undefined)
        return await creates(environment, service, 'items', round, usualConnections * workers);
      releaseItem = holdEach(processesOf(service.program.child.pid), cores);
      return await creates(environment, service, 'items', round, heldConnections * workers);
    } finally {
      await environment.stop(service.program);
      await sleep(100);
      releaseItem?.();
    }
  };
  const compared = async (name: string, cores?: number): Promise<Row> => {
    const figures = await compareInRounds(conditions, {
      'one process': (round) => run(1, round, cores),
      ours: (round) => run(processes, round, cores),
    });
    return {
      name,
      unit: 'requests/s',
      ours: figures.ours,
      yardstick: { name: 'one process', figures: figures['one process'] },
      goal: atLeast(1.8),
    };
  };
  const name = `create in ${processes} processes, an engine with 5 ms latency`;
  const nameHeld = `${name}, each process limited to ${heldTo} of a core`;
  const missing = whyNotHeld();
  return [
    await compared(name),
    missing === undefined
      ? await compared(nameHeld, heldTo)
      : { name: nameHeld, missing, goal: atLeast(1.8) },
  ];
}

async function creates(
  environment: Environment,
  { origin }: Server,
  table: string,
  { seconds }: Round,
  connections = usualConnections,
): Promise<number> {
  const outcome = await putUnderLoad(environment, {
    url: `${origin}/v3/table/${table}/create`,
    connections,
    seconds,
    requests: { method: 'POST', body: itemBody, items: { kind: 'new', stream: takeStream() } },
  });
  return outcome.requestsPerSecond;
}

async function fill({ origin }: Server, table: string, count: number): Promise<void> {
  for (let first = 0; first < count; first += 100) {
    const numbers = Array.from({ length: Math.min(100, count - first) }, (_, index) => first + index);
    const writes = numbers.map((number) => ({
      create: { id: idText(idNumber(number)), name: nameText(firstVersion) },
    }));
    const response = await fetch(`${origin}/v3/table/${table}/batch`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ writes }),
    });
    if (response.status !== 200) throw new Error(await response.text());
  }
}

async function sdk(environment: Environment, endpoint: string, args: readonly unknown[]): Promise<number> {
  const all = [sourceFile('dynamodb-client.ts'), endpoint, ...args.map(String)];
  return Number(await environment.run(process.execPath, all));
}

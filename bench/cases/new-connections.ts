import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Case, Conditions, Row } from '../case.ts';
import type { Environment } from '../environment.ts';
import { shortNumber } from '../measure.ts';
import type { ConnectionLoad, ConnectionTimes } from '../new-connections.ts';
import { newKey, type Server, startService, startYardstick } from '../servers.ts';
import { sourceFile } from '../source-file.ts';

/** The promise for the 99th percentile. */
const newConnectionMsMax = 250;
/** So many honest callers that a server which accepts one connection per turn falls behind when its turns are long. */
const honestEveryMs = 20;
const attackAddresses = ['127.0.66.1'];
const honestAddresses = Array.from({ length: 200 }, (_, number) => `127.0.1.${1 + number}`);
/** A page of the table has 1 MiB. */
const pageItems = 1_000;
const itemBytes = 1_024;
const batchItems = 100;

interface Attack {
  readonly name: string;
  readonly connections: number;
  readonly bodyBytes: number;
  /** Of its request to the service, and of the same to bare node:http, which serves files of these names. */
  readonly head: (key: string) => string;
  readonly bareHead: string;
}

const attacks: readonly Attack[] = [
  {
    name: '200 connections with bodies of 250 kB without a key',
    connections: 200,
    bodyBytes: 250_000,
    head: () =>
      `POST /stage/events/stripe HTTP/1.1\r\nContent-Type: application/json\r\nStripe-Signature: t=1,v1=${'0'.repeat(64)}`,
    bareHead: 'POST / HTTP/1.1\r\nContent-Type: application/json',
  },
  {
    name: '1,000 connections with small requests',
    connections: 1_000,
    bodyBytes: 0,
    head: () => 'GET /livez HTTP/1.1',
    bareHead: 'GET /small HTTP/1.1',
  },
  {
    name: '1,000 connections, a new one for each small request',
    connections: 1_000,
    bodyBytes: 0,
    head: () => 'GET /livez HTTP/1.1\r\nConnection: close',
    bareHead: 'GET /small HTTP/1.1\r\nConnection: close',
  },
  {
    name: '64 pages of 1 MiB with one key',
    connections: 64,
    bodyBytes: 0,
    head: (key) => `GET /v3/table/items/read?limit=${pageItems} HTTP/1.1\r\nAuthorization: Bearer ${key}`,
    bareHead: 'GET /page HTTP/1.1',
  },
];

/** How long a new connection of an honest address waits for its response while another address attacks. */
export const newConnections: Case = {
  name: 'new-connections',
  summary: `opens a connection for each small request, every ${honestEveryMs} ms, while another address keeps the server busy`,

  async measure(environment, conditions) {
    const service = await startKeyedService(environment, conditions);
    const bare = await startBare(environment);
    const rows: Row[] = [];
    for (const attack of attacks)
      rows.push(...(await measureAttack(environment, conditions, attack, service, bare)));
    return {
      rows,
      remarks: [
        'The time is from the first packet of a connection to the end of its response. Attackers and honest callers are ' +
          'programs on the same machine, from two addresses of it, so that the figures are those of a server with a part ' +
          'of the processor.',
      ],
    };
  },
};

interface KeyedServer extends Server {
  readonly key: string;
}

async function measureAttack(
  environment: Environment,
  { rounds, seconds, log }: Conditions,
  attack: Attack,
  service: KeyedServer,
  bare: Server,
): Promise<Row[]> {
  const found = { ours: [] as Times[], bare: [] as Times[] };
  const bearer = `Authorization: Bearer ${service.key}`;
  for (let round = 1; round <= rounds; round++) {
    const head = `GET /v3/table/items/read?id=0-0 HTTP/1.1\r\n${bearer}`;
    const ours = { origin: service.origin, head: attack.head(service.key) };
    found.ours.push(await timesUnder(environment, attack, { ...ours, seconds }, head));
    const yardstick = { origin: bare.origin, head: attack.bareHead };
    found.bare.push(await timesUnder(environment, attack, { ...yardstick, seconds }, 'GET /small HTTP/1.1'));
    log(`  ${attack.name}, round-${round}: ours ${text(found.ours.at(-1))}, bare ${text(found.bare.at(-1))}`);
  }
  const row = (what: string, of: (times: Times) => number, goal: Row['goal']): Row => ({
    name: `new connection beside ${attack.name}: ${what}`,
    unit: 'ms',
    ours: found.ours.map(of),
    yardstick: { name: 'bare node:http', figures: found.bare.map(of) },
    goal,
  });
  return [
    row('median', ({ median }) => median, { of: 'ratio', side: 'most' }),
    row('99th percentile', ({ p99 }) => p99, { of: 'ratio', side: 'most' }),
    row('99th percentile, goal', ({ p99 }) => p99, { of: 'figure', side: 'most', bound: newConnectionMsMax }),
  ];
}

interface Times {
  readonly median: number;
  readonly p99: number;
}

/** @param honestHead of the request of honest callers */
async function timesUnder(
  environment: Environment,
  { name, connections, bodyBytes }: Attack,
  { origin, head, seconds }: Pick<ConnectionLoad, 'origin' | 'head' | 'seconds'>,
  honestHead: string,
): Promise<Times> {
  const attacking = { origin, head, bodyBytes, seconds, addresses: attackAddresses, connections };
  const calling = { origin, head: `${honestHead}\r\nConnection: close`, bodyBytes: 0, seconds };
  const [attackers, callers] = await Promise.all([
    run(environment, attacking),
    run(environment, { ...calling, addresses: honestAddresses, everyMs: honestEveryMs }),
  ]);
  if (Object.keys(attackers.statuses).length === 0) throw new Error(`${name}: the attackers got no response`);
  const failures = Object.keys(callers.statuses).filter((status) => status !== '200');
  if (failures.length > 0) throw new Error(`${name}: honest callers got ${failures.join(', ')}`);
  const sorted = callers.ms.toSorted((one, other) => one - other);
  const within = (part: number) => sorted[Math.floor(sorted.length * part)] ?? Number.NaN;
  return { median: within(0.5), p99: within(0.99) };
}

async function run(environment: Environment, load: ConnectionLoad): Promise<ConnectionTimes> {
  const args = [sourceFile('new-connections.ts'), JSON.stringify(load)];
  return JSON.parse(await environment.run(process.execPath, args)) as ConnectionTimes;
}

/** The service with a table whose first page has 1 MiB. */
async function startKeyedService(environment: Environment, conditions: Conditions): Promise<KeyedServer> {
  const data = join(environment.folder, 'data');
  const key = await newKey(environment, data, ['admin']);
  const settings = {
    COUNTERFOIL_LIMIT_REQUESTS: '0',
    COUNTERFOIL_LOG_LEVEL: 'error',
    COUNTERFOIL_STRIPE_KEY: 'sk_test_bench',
    COUNTERFOIL_STRIPE_WEBHOOK_SECRETS: 'whsec_bench',
  };
  const service = await startService(environment, conditions, data, settings);
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
  const name = 'x'.repeat(itemBytes);
  for (let batch = 0; batch < pageItems / batchItems; batch++) {
    const writes = Array.from({ length: batchItems }, (_, n) => ({ create: { id: `${batch}-${n}`, name } }));
    const url = `${service.origin}/v3/table/items/batch`;
    const { status } = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ writes }) });
    if (status !== 200) throw new Error(`the table could not be filled: ${status}`);
  }
  return { ...service, key };
}

async function startBare(environment: Environment): Promise<Server> {
  const small = join(environment.folder, 'small');
  const page = join(environment.folder, 'page');
  writeFileSync(small, JSON.stringify({ statusCode: 200, body: { id: '0-0', name: 'x'.repeat(itemBytes) } }));
  writeFileSync(page, 'x'.repeat(pageItems * itemBytes));
  return startYardstick(environment, small, page);
}

function text(times: Times | undefined): string {
  return times === undefined ? '–' : `${shortNumber(times.median)} / ${shortNumber(times.p99)} ms`;
}

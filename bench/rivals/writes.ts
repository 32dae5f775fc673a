import type { Goal } from '../case.ts';
import type { Environment } from '../environment.ts';
import { nameText, takeStream } from '../items.ts';
import { etcd, go, missingTool, redis, type Tool, webdis } from '../tools.ts';
import { idPlaceholder, putUnderLoad, versionPlaceholder } from '../wrk.ts';
import { buildEtcdClient, putToEtcd, startEtcd } from './etcd.ts';
import { startWebdis } from './redis.ts';

/** Another store that flushes every write before it responds, with as many items as our table. */
export interface Rival {
  /** Its name in the report. */
  readonly name: string;
  /** The goal of our service compared with it. */
  readonly goal: Goal;
  /** How it is set up and loaded. */
  readonly remark: string;
  /** Returns writes per second; or the reason why it cannot be measured. */
  readonly load: ((load: RivalLoad) => Promise<number>) | { readonly missing: string };
}

export interface RivalLoad {
  readonly operation: 'create' | 'update';
  readonly connections: number;
  readonly seconds: number;
  /** Updates go to the first so many items. */
  readonly items: number;
}

/** The number of etcd's clients on a shared connection. */
const clientsPerConnection = 16;
/** etcd's client takes a number of puts, not a duration. The warm-up assumes so many puts per second. */
const etcdRateGuessed = 5_000;

/** Starts and fills all rivals whose programs are installed. */
export async function startRivals(environment: Environment, items: number): Promise<Rival[]> {
  return [...(await etcdRivals(environment, items)), await redisRival(environment, items)];
}

const etcdRemark =
  'etcd has one member, and its own client (`tools/benchmark`) loads it over gRPC, which costs less than its HTTP ' +
  'gateway would: with one connection per client, as all others here, and with ' +
  `${clientsPerConnection} clients per connection. A put is unconditional, while our create looks for the id first.`;
const redisRemark =
  'Redis has `appendfsync always` and is behind webdis with two threads, so that wrk loads it over HTTP, as it loads ' +
  'our service: create is SETNX, update is SET with XX.';

async function etcdRivals(environment: Environment, items: number): Promise<Rival[]> {
  const ways = [
    { name: 'etcd put', perConnection: 1, goal: atLeast({ bound: 2.5 }) },
    { name: 'etcd put, connections shared', perConnection: clientsPerConnection, goal: atLeast({}) },
  ];
  const client = missingOf(etcd, go) ?? (await buildEtcdClient(environment).catch(notBuilt));
  if (typeof client !== 'string')
    return ways.map(({ name, goal }) => ({ name, goal, remark: etcdRemark, load: client }));
  const server = await startEtcd(environment, client, items);
  return ways.map(({ name, perConnection, goal }) => {
    let rate = etcdRateGuessed;
    const load = async ({ operation, connections, seconds, items: count }: RivalLoad) => {
      rate = await putToEtcd(environment, server, {
        clients: connections,
        connections: connections / perConnection,
        total: Math.round(rate * seconds),
        ...(operation === 'update' && { keys: count }),
      });
      return rate;
    };
    return { name, goal, remark: etcdRemark, load };
  });
}

async function redisRival(environment: Environment, items: number): Promise<Rival> {
  const name = 'Redis behind webdis';
  const goal = atLeast({ aim: 0.7 });
  const missing = missingOf(redis, webdis);
  if (missing !== undefined) return { name, goal, remark: redisRemark, load: missing };
  const { origin } = await startWebdis(environment, items);
  const pair = `${idPlaceholder}/${nameText(versionPlaceholder)}`;
  const load = async ({ operation, connections, seconds, items: count }: RivalLoad) => {
    const isCreate = operation === 'create';
    const { requestsPerSecond } = await putUnderLoad(environment, {
      url: `${origin}${isCreate ? `/SETNX/${pair}` : `/SET/${pair}/XX`}`,
      connections,
      seconds,
      requests: {
        method: 'GET',
        expected: isCreate ? '{"SETNX":1}' : '[true,"OK"]',
        items: isCreate ? { kind: 'new', stream: takeStream() } : { kind: 'known', count },
      },
    });
    return requestsPerSecond;
  };
  return { name, goal, remark: redisRemark, load };
}

function atLeast(levels: Pick<Goal, 'bound' | 'aim'>): Goal {
  return { of: 'ratio', side: 'least', ...levels };
}

/** The first build needs the network. If it fails, the other stores are measured nevertheless. */
function notBuilt(error: Error): { missing: string } {
  const lastLine = error.message.trimEnd().split('\n').at(-1);
  return { missing: `its load client could not be built: ${lastLine}` };
}

function missingOf(...tools: readonly Tool[]): { missing: string } | undefined {
  const missing = missingTool(...tools);
  return missing === undefined ? undefined : { missing };
}

import type { Goal } from '../case.ts';
import { nameText, takeStream } from '../items.ts';
import { etcd, go, missingTool, redis, type Tool, webdis } from '../tools.ts';
import type { Workplace } from '../workplace.ts';
import { idPlaceholder, putUnderLoad, versionPlaceholder } from '../wrk.ts';
import { buildEtcdClient, putToEtcd, startEtcd } from './etcd.ts';
import { startWebdis } from './redis.ts';

/** Another store that flushes every write before it answers, with as many items in it as our table has. */
export interface Rival {
  /** As the report calls it. */
  readonly name: string;
  /** What we are to be beside it. */
  readonly goal: Goal;
  /** How it is set up and loaded. */
  readonly remark: string;
  /** @returns writes per second, or why there are none */
  readonly load: ((load: RivalLoad) => Promise<number>) | { readonly missing: string };
}

export interface RivalLoad {
  readonly operation: 'create' | 'update';
  readonly connections: number;
  readonly seconds: number;
  /** Of which updates are. */
  readonly items: number;
}

/** How many of etcd's clients take one connection, where they share. */
const clientsPerConnection = 16;
/** Of what load etcd's client is to make it knows the amount, not the time: a first guess for the warm-up. */
const etcdRateGuessed = 5_000;

/** All rivals whose programs are there, started and filled. */
export async function startRivals(workplace: Workplace, items: number): Promise<Rival[]> {
  return [...(await etcdRivals(workplace, items)), await redisRival(workplace, items)];
}

const etcdRemark =
  'etcd is one member, loaded over gRPC by its own client (`tools/benchmark`), which costs less than its HTTP ' +
  'gateway would: with a connection for each client, as all others here have, and with ' +
  `${clientsPerConnection} clients to a connection. A put is unconditional, where our create looks for the id first.`;
const redisRemark =
  'Redis has `appendfsync always` and stands behind webdis with two threads, so that wrk loads it over HTTP as it ' +
  'loads us: create is SETNX, update is SET with XX.';

async function etcdRivals(workplace: Workplace, items: number): Promise<Rival[]> {
  const ways = [
    { name: 'etcd put', perConnection: 1, goal: atLeast({ bound: 2.5 }) },
    { name: 'etcd put, connections shared', perConnection: clientsPerConnection, goal: atLeast({}) },
  ];
  const client = missingOf(etcd, go) ?? (await buildEtcdClient(workplace).catch(notBuilt));
  if (typeof client !== 'string')
    return ways.map(({ name, goal }) => ({ name, goal, remark: etcdRemark, load: client }));
  const server = await startEtcd(workplace, client, items);
  return ways.map(({ name, perConnection, goal }) => {
    let rate = etcdRateGuessed;
    const load = async ({ operation, connections, seconds, items: count }: RivalLoad) => {
      rate = await putToEtcd(workplace, server, {
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

async function redisRival(workplace: Workplace, items: number): Promise<Rival> {
  const name = 'Redis behind webdis';
  const goal = atLeast({ aim: 0.7 });
  const missing = missingOf(redis, webdis);
  if (missing !== undefined) return { name, goal, remark: redisRemark, load: missing };
  const { origin } = await startWebdis(workplace, items);
  const pair = `${idPlaceholder}/${nameText(versionPlaceholder)}`;
  const load = async ({ operation, connections, seconds, items: count }: RivalLoad) => {
    const isCreate = operation === 'create';
    const { requestsPerSecond } = await putUnderLoad(workplace, {
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

/** Building needs the network once; without it the others are measured all the same. */
function notBuilt(error: Error): { missing: string } {
  const lastLine = error.message.trimEnd().split('\n').at(-1);
  return { missing: `its load client could not be built: ${lastLine}` };
}

function missingOf(...tools: readonly Tool[]): { missing: string } | undefined {
  const missing = missingTool(...tools);
  return missing === undefined ? undefined : { missing };
}

import { join } from 'node:path';
import type { Environment } from '../environment.ts';
import { freePort, type Server, startListening } from '../servers.ts';
import { sourceFile } from '../source-file.ts';

/** etcd with its own load client, over gRPC, because its HTTP gateway is considerably slower. */
export interface Etcd {
  readonly server: Server;
  readonly client: string;
}

/** Far more keys than puts, so that nearly every put is of a new key. */
const newKeys = 1_000_000_000;
/** The length of ids and names of the other sides' items. */
const keyBytes = 12;
const valueBytes = 14;
const fillClients = 256;
/** The first build downloads the client's dependencies. */
const buildMsMax = 300_000;

/** Builds etcd's own load client, in the version that `etcd-client/go.mod` pins. @returns the program */
export async function buildEtcdClient(environment: Environment): Promise<string> {
  const client = join(environment.folder, 'etcd-client');
  await environment.run('go', ['build', '-o', client, 'go.etcd.io/etcd/v3/tools/benchmark'], {
    folder: sourceFile('rivals/etcd-client'),
    msMax: buildMsMax,
  });
  return client;
}

export async function startEtcd(environment: Environment, client: string, items: number): Promise<Etcd> {
  const etcd = { server: await serveEtcd(environment, environment.folder), client };
  await put(environment, etcd, [
    ...clients(fillClients, fillClients / 16),
    ...puts({ total: items, keys: items }),
    '--sequential-keys',
  ]);
  return etcd;
}

/** etcd with one member and its data in the folder. */
export async function serveEtcd(environment: Environment, folder: string): Promise<Server> {
  const [port, peerPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const peerUrl = `http://127.0.0.1:${peerPort}`;
  const settings = {
    'data-dir': join(folder, 'etcd'),
    'listen-client-urls': url,
    'advertise-client-urls': url,
    'listen-peer-urls': peerUrl,
    'initial-advertise-peer-urls': peerUrl,
    'initial-cluster': `default=${peerUrl}`,
  };
  const args = Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
  return startListening(environment.start('etcd', args), port);
}

export interface EtcdLoad {
  readonly clients: number;
  /** Several clients may share an HTTP/2 connection. */
  readonly connections: number;
  readonly total: number;
  /** Puts go to the first so many keys; without it, to new ones. */
  readonly keys?: number;
}

/** Puts in random order. @returns puts per second */
export function putToEtcd(environment: Environment, etcd: Etcd, load: EtcdLoad): Promise<number> {
  const { total, keys = newKeys } = load;
  return put(environment, etcd, [...clients(load.clients, load.connections), ...puts({ total, keys })]);
}

function clients(count: number, connections: number): string[] {
  return [`--clients=${count}`, `--conns=${connections}`];
}

function puts({ total, keys }: { readonly total: number; readonly keys: number }): string[] {
  return [
    `--total=${total}`,
    `--key-space-size=${keys}`,
    `--key-size=${keyBytes}`,
    `--val-size=${valueBytes}`,
  ];
}

async function put(
  environment: Environment,
  { server, client }: Etcd,
  args: readonly string[],
): Promise<number> {
  const endpoint = new URL(server.origin).host;
  const text = await environment.run(client, ['--endpoints', endpoint, 'put', ...args]);
  const rate = Number(/^\s*Requests\/sec:\s*([\d.]+)$/m.exec(text)?.[1]);
  if (!(rate > 0) || /^\s*Error distribution/m.test(text))
    throw new Error(`etcd's load client failed:\n${text}`);
  return rate;
}

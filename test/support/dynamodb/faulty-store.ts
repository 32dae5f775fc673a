import type { TestContext } from 'node:test';
import { type DynamoSettings, initDynamo, openDynamoEngine } from '../../../src/storage/dynamodb/open.ts';
import type { Engine } from '../../../src/storage/engine.ts';
import { FaultProxy } from './fault-proxy.ts';
import { dynamoEndpoint, dynamoRegion, newPrefix } from './stores.ts';

/** A store of its own on the engine of the tests, with engines through the proxy and one without it. */
export interface FaultyStore {
  readonly proxy: FaultProxy;
  /** Without the proxy. */
  readonly direct: Engine;
  /** Through the proxy, with enough attempts to survive any single fault. */
  readonly patient: Engine;
  /** Through the proxy, with a long time limit: even a busy machine causes no retries. */
  readonly calm: Engine;
  /** Through the proxy, with short time limits and at most 100 concurrent calls. */
  readonly hasty: Engine;
  readonly tablePrefix: string;
  close(): Promise<void>;
}

const patience = { attemptMsMax: 400, callMsMax: 20_000 };
const haste = { attemptMsMax: 300, callMsMax: 100, callsMax: 100 };

/** @param declared tables that are created first */
export async function openFaultyStore(declared: readonly string[] = []): Promise<FaultyStore> {
  const endpoint = await dynamoEndpoint();
  const proxy = await FaultProxy.open(endpoint);
  const tablePrefix = newPrefix();
  const settings = { endpoint, region: dynamoRegion, tablePrefix, declared };
  await initDynamo(settings).catch(async (error) => {
    await proxy.close();
    throw error;
  });
  const through = { ...settings, endpoint: proxy.endpoint };
  const direct = await openDynamoEngine(settings);
  const patient = await openDynamoEngine({ ...through, ...patience });
  const calm = await openDynamoEngine({ ...through, attemptMsMax: 30_000 });
  const hasty = await openWithRetries({ ...through, ...haste });
  proxy.reset();
  const close = async () => {
    await Promise.all([direct, patient, calm, hasty].map((engine) => engine.close()));
    await proxy.close();
  };
  return { proxy, direct, patient, calm, hasty, tablePrefix, close };
}

/** Retries the opening: the short time limits are for the faults of a test, not for a busy machine. */
async function openWithRetries(settings: DynamoSettings): Promise<Engine> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await openDynamoEngine(settings);
    } catch (error) {
      if (attempts === 30) throw error;
    }
  }
}

/** The same for one test, closed after it. */
export async function faultyStore(t: TestContext, declared?: readonly string[]): Promise<FaultyStore> {
  const store = await openFaultyStore(declared);
  t.after(() => store.close());
  return store;
}

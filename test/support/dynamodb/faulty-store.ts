import type { TestContext } from 'node:test';
import { type DynamoSettings, initDynamo, openDynamoEngine } from '../../../src/storage/dynamodb/open.ts';
import type { Engine } from '../../../src/storage/engine.ts';
import { FaultProxy } from './fault-proxy.ts';
import { dynamoEndpoint, dynamoRegion, newPrefix } from './stores.ts';

/** A store of its own on the engine of the tests, reached past the proxy and through it. */
export interface FaultyStore {
  readonly proxy: FaultProxy;
  /** Past the proxy. */
  readonly direct: Engine;
  /** Through it, with attempts enough for whatever comes once. */
  readonly patient: Engine;
  /** Through it, with the bounds that a service has: on a busy machine nothing is asked twice. */
  readonly calm: Engine;
  /** Through it, and soon at its end; 100 calls at once. */
  readonly hasty: Engine;
  readonly tablePrefix: string;
  close(): Promise<void>;
}

const patience = { attemptMsMax: 400, callMsMax: 20_000 };
const haste = { attemptMsMax: 300, callMsMax: 100, callsMax: 100 };

/** @param declared tables that are made beforehand */
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
  const hasty = await openAtLast({ ...through, ...haste });
  proxy.reset();
  const close = async () => {
    await Promise.all([direct, patient, calm, hasty].map((engine) => engine.close()));
    await proxy.close();
  };
  return { proxy, direct, patient, calm, hasty, tablePrefix, close };
}

/** Its haste is for the faults of a test, not for a machine that is busy while it opens. */
async function openAtLast(settings: DynamoSettings): Promise<Engine> {
  for (let tries = 1; ; tries++) {
    try {
      return await openDynamoEngine(settings);
    } catch (error) {
      if (tries === 30) throw error;
    }
  }
}

/** The same for one test, closed after it. */
export async function faultyStore(t: TestContext, declared?: readonly string[]): Promise<FaultyStore> {
  const store = await openFaultyStore(declared);
  t.after(() => store.close());
  return store;
}

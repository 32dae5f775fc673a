import type { TestContext } from 'node:test';
import type { CreateKeyRequest } from '../../../src/access/keys/api-key.ts';
import { ApiKeys } from '../../../src/access/keys/api-keys.ts';
import { type Scope, scopes } from '../../../src/access/scopes.ts';
import { payerPrice } from '../payments/payer-price.ts';
import { writeSettings } from '../payments/settings-file.ts';
import {
  newDataFolder,
  onNewStore,
  onStore,
  startTestService,
  type TestService,
  type TestServiceOptions,
} from '../service.ts';

/** Every scope except admin. */
export const everyScope: readonly Scope[] = scopes.filter((scope) => scope !== 'admin');

export function keyRequest(fields: Partial<CreateKeyRequest> = {}): CreateKeyRequest {
  return { kind: 'secret', name: 'test', scopes: everyScope, ...fields };
}

/** Runs `work` on the keys of a data folder that this process does not have open; creates a missing store. */
export async function withKeys<Result>(
  data: string,
  work: (keys: ApiKeys) => Promise<Result>,
  now?: () => number,
): Promise<Result> {
  return onStore(data, (engine) => work(new ApiKeys(engine, 'cli', now)));
}

/** The texts of new keys, by the names of their requests. */
function newKeys<Name extends string>(
  data: string,
  requests: Readonly<Record<Name, Partial<CreateKeyRequest>>>,
): Promise<Readonly<Record<Name, string>>> {
  return onNewStore(data, JSON.stringify(requests), async (engine) => {
    const keys = new ApiKeys(engine, 'cli');
    const texts: [string, string][] = [];
    for (const [name, fields] of Object.entries<Partial<CreateKeyRequest>>(requests))
      texts.push([name, (await keys.create(keyRequest({ name, ...fields }))).text]);
    return Object.fromEntries(texts) as Record<Name, string>;
  });
}

/** The text of a new key. */
export async function newKey(data: string, fields: Partial<CreateKeyRequest> = {}): Promise<string> {
  return (await newKeys(data, { test: fields })).test;
}

/** The id within a key. */
export function idWithin(key: string): string {
  return /^cf[kp]_([0-9a-f]{16})\./.exec(key)?.[1] as string;
}

export function bearing(key: string): { readonly authorization: string } {
  return { authorization: `Bearer ${key}` };
}

/**
 * A service with one key for each of the requests, by the same names. If one of them is publishable, and the options name no
 * settings file, the default payment route has a price that the payer chooses.
 */
export async function startServiceWithKeys<Name extends string>(
  t: TestContext,
  requests: Readonly<Record<Name, Partial<CreateKeyRequest>>>,
  options: TestServiceOptions = {},
): Promise<{ readonly service: TestService; readonly keys: Readonly<Record<Name, string>> }> {
  const data = newDataFolder(t);
  const made = await newKeys(data, requests);
  const isForPages = Object.values<Partial<CreateKeyRequest>>(requests).some(
    ({ kind }) => kind === 'publishable',
  );
  const file = isForPages ? { file: writeSettings(t, payerPrice) } : {};
  return { service: await startTestService(t, { data, ...file, ...options }), keys: made };
}

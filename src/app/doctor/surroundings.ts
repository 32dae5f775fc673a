import { statfsSync } from 'node:fs';
import { hasEnded } from '../../access/keys/api-key.ts';
import { operatorKeys } from '../../access/keys/keys.ts';
import { processorCheckMsMax } from '../../payments/limits.ts';
import { openOfOtherAccounts } from '../../payments/payments.ts';
import type { ProcessorAccount } from '../../processors/processor.ts';
import type { Settings } from '../../settings/schema.ts';
import type { Engine } from '../../storage/engine.ts';
import { diskLowBytes, diskReserveBytes } from '../../storage/limits.ts';
import { withoutPrice } from '../unpriced-routes.ts';
import { type Finding, ok, problem } from './finding.ts';

/** Checks of what is around the service: the disk, the keys of browsers, and the processors. */

const mebibyte = 1024 * 1024;

/** Nothing for a distributed store. */
export function diskCheck({ store, data }: Pick<Settings, 'store' | 'data'>): readonly Finding[] {
  if (store !== 'lmdb') return [];
  const { bavail, bsize } = statfsSync(data);
  const free = bavail * bsize;
  const text = `${Math.floor(free / mebibyte)} MiB are free under ${data}`;
  if (free < diskReserveBytes)
    return [problem('disk', `${text}, and the service rejects writes`, 'make room')];
  const action = `make room: under ${diskReserveBytes / mebibyte} MiB the service rejects writes`;
  return [free < diskLowBytes ? problem('disk', text, action) : ok('disk', text)];
}

/** One problem for each publishable key that cannot take payments. */
export async function publishableKeysCheck(
  settings: Settings,
  engine: Engine,
  now: number,
): Promise<readonly Finding[]> {
  const keys = await operatorKeys(engine).list();
  return keys
    .filter((key) => !hasEnded(key, now))
    .flatMap((key) => {
      const reason = withoutPrice(key, settings);
      return reason === undefined ? [] : [problem(`publishable API key ${key.id} (${key.name})`, reason)];
    });
}

/** Calls each processor that has a key. @param known by name; undefined for one without a key */
export async function processorsCheck(
  known: ReadonlyMap<string, ProcessorAccount | undefined>,
  engine: Engine,
): Promise<readonly Finding[]> {
  const configured = [...known.values()].filter((processor) => processor !== undefined);
  if (configured.length === 0) return [ok('processors', 'the settings have no key')];
  const findings = await Promise.all(
    configured.map(async (processor) => [
      await reachableCheck(processor),
      ...(await accountCheck(processor, engine)),
    ]),
  );
  return findings.flat();
}

/** Finds charges and refunds of another account: they stay unresolved without the key of that account. */
async function accountCheck(processor: ProcessorAccount, engine: Engine): Promise<readonly Finding[]> {
  const check = `processor ${processor.name}`;
  const account = await processor.account(processorCheckMsMax);
  if (account.kind === 'withheld')
    return [
      problem(
        check,
        'the key has no permission to read its account, so a key of another account would go unnoticed',
        'grant the permission',
      ),
    ];
  if (account.kind === 'unknown') return [];
  const others = await openOfOtherAccounts(engine, {
    processor: processor.name,
    account: account.id,
    ...(account.mode === undefined ? {} : { mode: account.mode }),
  });
  const name = account.mode === undefined ? account.id : `${account.id}, ${account.mode} mode`;
  if (others.length === 0) return [ok(check, `account ${name}`)];
  const [first] = others;
  return [
    problem(
      check,
      `${others.length} open payments, for example ${first}, were made under another account than ${name}`,
      'use the key of that account until they have ended',
    ),
  ];
}

async function reachableCheck(processor: ProcessorAccount): Promise<Finding> {
  const name = `processor ${processor.name}`;
  const check = await processor.check(processorCheckMsMax);
  switch (check.kind) {
    case 'well':
      return ok(name, 'responds, and accepts the key');
    case 'rejected':
      return problem(
        name,
        `rejects the key of the settings, or the key lacks permissions (${check.detail})`,
        "check it in the processor's dashboard",
      );
    case 'unknown':
      return problem(
        name,
        `cannot be reached (${check.detail})`,
        'check the network, and the API base of the settings',
      );
  }
}

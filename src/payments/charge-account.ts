import type { Mode } from '../processors/processor.ts';
import type { Engine, Space, Write } from '../storage/engine.ts';
import { itemsOf } from '../storage/item-text.ts';

/** An account at a processor, in one mode. The charges of one are in the records of no other. */
export interface ChargeAccount {
  readonly processor: string;
  /** The processor's id of the account; absent if its key may not read it. */
  readonly account?: string;
  /** Absent if the key does not show it, and of payments of earlier versions. */
  readonly mode?: Mode;
}

/** One item for each account that the store has ever charged with, under its name. Backups list them in their manifests. */
export const chargeAccountsSpace: Space = 'service:charge-accounts';

/** The account as operators read and write it: `stripe/acct_1/live`. */
export function accountName({ processor, account, mode }: ChargeAccount): string {
  return [processor, account ?? 'unknown', mode ?? 'unknown'].join('/');
}

/** Only the fields of an account, of a payment or of itself. */
export function accountOf({ processor, account, mode }: ChargeAccount): ChargeAccount {
  return {
    processor,
    ...(account === undefined ? {} : { account }),
    ...(mode === undefined ? {} : { mode }),
  };
}

/** Records an account. Commit it with the first charge, so that no charge is without it in any backup. Never fails. */
export function noteAccount(account: ChargeAccount): Write {
  const value = JSON.stringify(accountOf(account));
  return { kind: 'put', space: chargeAccountsSpace, id: accountName(account), value, makeSpace: true };
}

/** The accounts that the store has recorded. Stores of earlier versions have recorded none. */
export async function notedAccounts(engine: Engine): Promise<ChargeAccount[]> {
  const scan = await engine.scan(chargeAccountsSpace);
  const items = await Array.fromAsync(itemsOf(scan?.chunks ?? []));
  return items.map(({ name }) => JSON.parse(name) as ChargeAccount);
}

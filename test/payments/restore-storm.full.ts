import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { test } from 'node:test';
import { ServiceError } from '../../src/errors.ts';
import { Recovery } from '../../src/payments/recovery.ts';
import { FileLedger } from '../../src/processors/simulated/file-ledger.ts';
import { adoptAll, ledgerOf } from '../support/payments/adoption-world.ts';
import { buy, type OpenedStore, openContext, restoreTo } from '../support/payments/restored-store.ts';
import { between, pick, randomFrom, seedOf } from '../support/random.ts';
import { newDataFolder } from '../support/service.ts';

const onLmdb = { skip: process.env.TEST_STORE === 'dynamodb' ? 'the embedded store only' : false };
const steps = process.env.LONG === '1' ? 1_000 : 60;
const keys = 12;

test(
  'no key is charged twice in a storm of restores, adoptions, and services with wrong keys and none',
  onLmdb,
  async (t) => {
    const random = randomFrom(seedOf(t));
    const folder = newDataFolder(t);
    const [right, wrong] = [`${folder}-right`, `${folder}-wrong`];
    const backups: string[] = [];
    let [store, isRestored, copies] = [folder, false, 0];
    const on = async <Result>(books: string | undefined, work: (opened: OpenedStore) => Promise<Result>) => {
      const opened = openContext(store, books === undefined ? new Map() : ledgerOf(books));
      try {
        return await work(opened);
      } finally {
        await opened.context.inFlight.end();
        await opened.context.heartbeats.close();
        await opened.engine.close();
      }
    };
    const refused = (error: unknown) => {
      assert.ok(error instanceof ServiceError, `${error}`);
      counts[error.code] = (counts[error.code] ?? 0) + 1;
    };
    const counts: Record<string, number> = {};
    const charge = (books: string | undefined) =>
      on(books, async ({ context }) => {
        const n = between(random, 0, keys - 1);
        const token = pick(random, ['tok_paid', 'tok_paid', 'tok_lost_reply', 'tok_insufficient_funds']);
        await buy(context, { key: `key-${n}-${token}`, seat: `A-${n}-${token}` }).catch(refused);
        await new Recovery(context).round(new AbortController().signal);
      });
    const acts: Readonly<Record<string, () => Promise<unknown>>> = {
      charge: () => charge(right),
      // A store that never was restored may begin with any account.
      'charge with a wrong key': async () => isRestored && charge(wrong),
      'charge without a key': () => charge(undefined),
      backup: async () => {
        const backup = `${folder}-backup-${backups.length}`;
        cpSync(store, backup, { recursive: true });
        backups.push(backup);
      },
      restore: async () => {
        if (backups.length === 0) return;
        const from = pick(random, backups);
        store = `${folder}-${++copies}`;
        isRestored = true;
        await restoreTo(store, from);
      },
      adopt: () => adoptWith(right),
      'adopt with a wrong key': async () => isRestored && adoptWith(wrong),
      'adopt without a key': () => adoptWith(undefined),
    };
    const adoptWith = (books: string | undefined) =>
      on(books, async ({ context }) => {
        const code = (await adoptAll(context)).rejection?.code ?? 'opened';
        counts[code] = (counts[code] ?? 0) + 1;
      });
    await charge(right);
    const names = [...Object.keys(acts), 'charge', 'charge', 'adopt'];
    for (let step = 0; step < steps; step++) {
      const name = pick(random, names);
      await acts[name]?.();
      const charged = await Promise.all(
        [right, wrong].map((books) => FileLedger.open(`${books}.jsonl`).records()),
      );
      const entries = charged.flatMap(({ charges }) => charges.map(({ request }) => request?.keyEntry));
      assert.equal(new Set(entries).size, entries.length, `step ${step}: ${name}`);
    }
    t.diagnostic(JSON.stringify(counts));
  },
);

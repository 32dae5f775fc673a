import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Caller } from '../support/caller.ts';
import { FaultyDisk, SmallDisk } from '../support/conformance/mounted-disk.ts';
import { needRootAnd } from '../support/conformance/needs.ts';
import { Orders } from '../support/conformance/requests.ts';
import { startLedgerProcess } from '../support/ledger/ledger-process.ts';
import { randomFrom, seedOf } from '../support/random.ts';
import { ServeProcess } from '../support/serve-process.ts';
import { assertWhole } from '../support/storage/verify-command.ts';
import { load, verifyTable, watchedTable } from '../support/tables/table-load.ts';
import { type Item, itemsIn, readTable, writeTable } from '../support/tables/table-operations.ts';

/** Disks that take no more (promise 12): writes are rejected, reads go on, nothing is charged, nothing is lost. */
needRootAnd('mount', 'losetup', 'mkfs.ext4');

const smallMegabytes = 24;
const largeMegabytes = 64;
/** Names that fill a disk, first quickly and then to the brim. */
const fillingLengths = [50_000, 2_000, 20];
/** What an item takes beside its name, at least. */
const itemBytesMin = 20;
const fillersAtOnce = 16;
/** A folding of the journal may make room once more, so that not every order is rejected. */
const ordersMax = 1_000;
const refusedOrdersWanted = 3;
const loadMs = 1_000;
const recoverMsMax = 5_000;

test('refuses writes with 507 on a full disk, reads on, charges nobody, and recovers by itself', async (t) => {
  const disk = SmallDisk.mount(t, smallMegabytes);
  const { service, origin, ledger, options } = await startWithLedger(t, disk.folder);
  const watched = watchedTable('books', 200);
  const random = randomFrom(seedOf(t));
  await load({ origin, tables: [watched], callers: 8, random, until: sleep(loadMs) });

  const filled = await fill(origin);
  await assertHolds(origin, filled);
  const orders = await orderUntilRefused(origin, ledger);
  const whileFull = await load({ origin, tables: [watched], callers: 8, random, until: sleep(loadMs) });
  assert.equal(whileFull.lost, 0, `the service is gone: ${service.errors}`);
  assert.deepEqual([...whileFull.failed.keys()], [507], 'what is not written is rejected as storage_full');
  assert.ok(whileFull.read > 0, 'the table is read while the disk is full');
  await assertHolds(origin, filled);

  disk.resize(largeMegabytes);
  await untilWritable(origin);
  await orders.repeatAll(origin, ledger.charges);
  await assertHolds(origin, filled);
  await service.kill();
  const again = await ServeProcess.start(t, options);
  await assertHolds(await again.ready(), filled);
  await verifyTable(await again.ready(), watched);
  await orders.repeatAll(await again.ready(), ledger.charges);
  assert.equal(await again.terminate(), 0, again.errors);
  await assertWhole(options.data);
});

test('refuses writes with 503 or 507 on a disk that has turned read-only, reads on, and charges nobody', async (t) => {
  const disk = FaultyDisk.mount(t, largeMegabytes);
  const { service, origin, ledger, options } = await startWithLedger(t, disk.folder);
  const watched = watchedTable('books', 200);
  const random = randomFrom(seedOf(t));
  await load({ origin, tables: [watched], callers: 8, random, until: sleep(loadMs) });

  disk.turnReadOnly();
  const whileReadOnly = await load({ origin, tables: [watched], callers: 8, random, until: sleep(loadMs) });
  assert.equal(whileReadOnly.lost, 0, `the service is gone: ${service.errors}`);
  assert.equal(whileReadOnly.acknowledged, 0, 'nothing can have been flushed');
  const statuses = [...whileReadOnly.failed.keys()];
  assert.ok(statuses.length > 0 && statuses.every((status) => [503, 507].includes(status)), `${statuses}`);
  assert.ok(whileReadOnly.read > 0, 'the table is read while nothing can be written');
  const orders = await orderUntilRefused(origin, ledger);

  await service.kill();
  disk.repair();
  const again = await ServeProcess.start(t, options);
  await verifyTable(await again.ready(), watched);
  await orders.repeatAll(await again.ready(), ledger.charges);
  assert.equal(await again.terminate(), 0, again.errors);
  await assertWhole(options.data);
});

type Ledger = Awaited<ReturnType<typeof startLedgerProcess>>;

async function startWithLedger(t: TestContext, folder: string) {
  const ledger = await startLedgerProcess(t);
  // Given, so that these tests do not hang on the file of the master key (power-cut.conformance.ts does).
  const key = randomBytes(32).toString('base64');
  const env = { COUNTERFOIL_SIMULATED_LEDGER: ledger.origin, COUNTERFOIL_MASTER_KEY: key };
  const options = { data: join(folder, 'store'), env, simulate: true };
  const service = await ServeProcess.start(t, options);
  return { service, origin: await service.ready(), ledger, options };
}

/** Creates ever smaller items until not even the smallest fits. @returns the acknowledged ones */
async function fill(origin: string): Promise<ReadonlyMap<string, number>> {
  const acknowledged = new Map<string, number>();
  for (const length of fillingLengths) {
    let created = 0;
    const itemsMax = fillersAtOnce + (smallMegabytes * 2 ** 20) / (length + itemBytesMin);
    let isFull = false;
    const create = async () => {
      const caller = new Caller(origin);
      while (!isFull) {
        const id = `${length}-${created++}`;
        assert.ok(created < itemsMax, 'the disk takes more than it holds');
        isFull ||= !(await created200(caller, id, length));
        if (!isFull) acknowledged.set(id, length);
      }
      caller.close();
    };
    await Promise.all(Array.from({ length: fillersAtOnce }, create));
  }
  return acknowledged;
}

/** @returns whether the item was created; a refusal has to be the documented one */
async function created200(caller: Caller, id: string, length: number): Promise<boolean> {
  const heard = await writeTable(caller, 'filling', [{ kind: 'create', id, name: 'f'.repeat(length) }]);
  assert.ok(heard.kind === 'responded', 'a full disk is told, not met with silence');
  if (heard.status === 200) return true;
  const { body } = JSON.parse(heard.text);
  const { code, retryable } = body.error;
  assert.deepEqual([heard.status, code, retryable, body.complete], [507, 'storage_full', true, false]);
  return false;
}

/** The table of the filling is what was acknowledged: all of it, and nothing that was rejected. */
async function assertHolds(origin: string, acknowledged: ReadonlyMap<string, number>): Promise<void> {
  const caller = new Caller(origin);
  const heard = await readTable(caller, 'filling');
  caller.close();
  assert.ok(heard.kind === 'responded' && heard.status === 200);
  const items: readonly Item[] = itemsIn(heard.text);
  const found = new Map(
    items.map(({ id, name }) => [id, name === 'f'.repeat(name.length) ? name.length : -1]),
  );
  assert.deepEqual(found, acknowledged);
}

/** Orders until the reservation of some cannot be written; of those the processor has heard nothing. */
async function orderUntilRefused(origin: string, ledger: Ledger): Promise<Orders> {
  const orders = new Orders();
  const caller = new Caller(origin);
  let rejected = 0;
  for (let order = 0; order < ordersMax && rejected < refusedOrdersWanted; order++) {
    const before = (await ledger.charges()).length;
    const status = await orders.orderOnce(caller);
    const charges = (await ledger.charges()).length - before;
    if (status === 503 || status === 507) rejected++;
    // What was charged and could not be noted is in doubt, and told so.
    assert.ok(charges === 0 || status === 200 || status === 504, `${status} was answered to a charge`);
  }
  caller.close();
  assert.equal(rejected, refusedOrdersWanted, 'orders are rejected while nothing can be written');
  return orders;
}

async function untilWritable(origin: string): Promise<void> {
  const caller = new Caller(origin);
  const giveUpAt = Date.now() + recoverMsMax;
  for (let attempt = 0; ; attempt++) {
    const heard = await writeTable(caller, 'after', [{ kind: 'create', id: `after-${attempt}`, name: '' }]);
    if (heard.kind === 'responded' && heard.status === 200) break;
    assert.ok(Date.now() < giveUpAt, 'writes are still rejected though there is space');
    await sleep(50);
  }
  caller.close();
}

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { busyMachineMs } from '../support/busy-machine.ts';
import { Caller } from '../support/caller.ts';
import { ChargeRequests } from '../support/conformance/charge-requests.ts';
import { FaultyDisk, SmallDisk } from '../support/conformance/mounted-disk.ts';
import { needRootAnd } from '../support/conformance/needs.ts';
import { startLedgerProcess } from '../support/ledger/ledger-process.ts';
import { randomFrom, seedOf } from '../support/random.ts';
import { ServeProcess } from '../support/serve-process.ts';
import { assertWhole } from '../support/storage/verify-command.ts';
import { load, verifyTable, watchedTable } from '../support/tables/table-load.ts';
import { type Item, itemsIn, readTable, writeTable } from '../support/tables/table-operations.ts';

/** Full and read-only disks (promise 12): writes are rejected, reads succeed, nothing is charged, nothing is lost. */
needRootAnd('mount', 'losetup', 'mkfs.ext4');

const smallMegabytes = 24;
const largeMegabytes = 64;
/** The lengths of names that fill a disk, first quickly and then completely. */
const fillingLengths = [50_000, 2_000, 20];
/** The least space that an item takes in addition to its name. */
const itemBytesMin = 20;
const fillersAtOnce = 16;
/** A compaction of the journal may free space again, so that not every charge is rejected. */
const chargesMax = 1_000;
const rejectedChargesWanted = 3;
const loadMs = 1_000;
const recoverMsMax = 5_000 + busyMachineMs;

test('rejects writes with 507 on a full disk, serves reads, charges nothing, and recovers by itself', async (t) => {
  const disk = SmallDisk.mount(t, smallMegabytes);
  const { service, origin, ledger, options } = await startWithLedger(t, disk.folder);
  const watched = watchedTable('books', 200);
  const random = randomFrom(seedOf(t));
  await load({ origin, tables: [watched], callers: 8, random, until: sleep(loadMs) });

  const filled = await fill(origin);
  await assertHolds(origin, filled);
  const charges = await chargeUntilRejected(origin, ledger);
  const whileFull = await load({ origin, tables: [watched], callers: 8, random, until: sleep(loadMs) });
  assert.equal(whileFull.lost, 0, `the service has ended: ${service.errors}`);
  assert.deepEqual([...whileFull.failed.keys()], [507], 'every failed write is rejected as storage_full');
  assert.ok(whileFull.read > 0, 'the table is read while the disk is full');
  await assertHolds(origin, filled);

  disk.resize(largeMegabytes);
  await untilWritable(origin);
  await charges.repeatAll(origin, ledger.charges);
  await assertHolds(origin, filled);
  await service.kill();
  const again = await ServeProcess.start(t, options);
  await assertHolds(await again.ready(), filled);
  await verifyTable(await again.ready(), watched);
  await charges.repeatAll(await again.ready(), ledger.charges);
  assert.equal(await again.terminate(), 0, again.errors);
  await assertWhole(options.data);
});

test('a full disk can be emptied: deletes succeed, and then new items take their place', async (t) => {
  const disk = SmallDisk.mount(t, largeMegabytes);
  const { origin } = await startWithLedger(t, disk.folder);
  const filled = await fill(origin, largeMegabytes);
  const caller = new Caller(origin);
  for (const id of filled.keys()) {
    const outcome = await writeTable(caller, 'filling', [{ kind: 'delete', id }]);
    assert.ok(outcome.kind === 'responded' && outcome.status === 200, `${id}: ${JSON.stringify(outcome)}`);
  }
  caller.close();
  // Compaction makes the space of deleted items usable again, also while writes keep coming.
  await untilWritable(origin);
  const again = await fill(origin, largeMegabytes);
  // The items have different lengths, so their number says little.
  const [before, after] = [filled, again].map((items) => items.values().reduce((a, b) => a + b, 0));
  t.diagnostic(`${before} bytes, all deleted, then ${after} bytes`);
  assert.ok((after as number) > (before as number) / 4);
  await assertHolds(origin, again);
});

test('rejects writes with 503 or 507 on a read-only disk, serves reads, and charges nothing', async (t) => {
  const disk = FaultyDisk.mount(t, largeMegabytes);
  const { service, origin, ledger, options } = await startWithLedger(t, disk.folder);
  const watched = watchedTable('books', 200);
  const random = randomFrom(seedOf(t));
  await load({ origin, tables: [watched], callers: 8, random, until: sleep(loadMs) });

  disk.turnReadOnly();
  const whileReadOnly = await load({ origin, tables: [watched], callers: 8, random, until: sleep(loadMs) });
  assert.equal(whileReadOnly.lost, 0, `the service has ended: ${service.errors}`);
  assert.equal(whileReadOnly.acknowledged, 0, 'nothing can have been flushed');
  const statuses = [...whileReadOnly.failed.keys()];
  assert.ok(statuses.length > 0 && statuses.every((status) => [503, 507].includes(status)), `${statuses}`);
  assert.ok(whileReadOnly.read > 0, 'the table is read while nothing can be written');
  const charges = await chargeUntilRejected(origin, ledger);

  await service.kill();
  disk.repair();
  const again = await ServeProcess.start(t, options);
  await verifyTable(await again.ready(), watched);
  await charges.repeatAll(await again.ready(), ledger.charges);
  assert.equal(await again.terminate(), 0, again.errors);
  await assertWhole(options.data);
});

for (const what of ['with all of its files', 'that is a copy of the store alone'])
  test(`verifies a store on a read-only disk, ${what}, and leaves it as it is`, async (t) => {
    const disk = SmallDisk.mount(t, largeMegabytes);
    const { service, origin, options } = await startWithLedger(t, disk.folder);
    const caller = new Caller(origin);
    await writeTable(caller, 'books', [{ kind: 'create', id: 'a', name: '' }]);
    caller.close();
    assert.equal(await service.terminate(), 0);
    const file = join(options.data, 'store.mdb');
    if (what.includes('alone'))
      for (const name of readdirSync(options.data))
        if (name !== 'store.mdb') rmSync(join(options.data, name));
    const before = readFileSync(file);
    disk.turnReadOnly();
    await assertWhole(options.data);
    assert.ok(readFileSync(file).equals(before));
  });

type Ledger = Awaited<ReturnType<typeof startLedgerProcess>>;

async function startWithLedger(t: TestContext, folder: string) {
  const ledger = await startLedgerProcess(t);
  // Set, so that these tests do not depend on the file of the master key (power-cut.conformance.ts does).
  const key = randomBytes(32).toString('base64');
  const env = { COUNTERFOIL_SIMULATED_LEDGER: ledger.origin, COUNTERFOIL_MASTER_KEY: key };
  const options = { data: join(folder, 'store'), env, simulate: true };
  const service = await ServeProcess.start(t, options);
  return { service, origin: await service.ready(), ledger, options };
}

/** Creates smaller and smaller items until not even the smallest fits. @returns the acknowledged ones */
async function fill(origin: string, megabytes = smallMegabytes): Promise<ReadonlyMap<string, number>> {
  const acknowledged = new Map<string, number>();
  for (const length of fillingLengths) {
    let created = 0;
    const itemsMax = fillersAtOnce + (megabytes * 2 ** 20) / (length + itemBytesMin);
    let isFull = false;
    const create = async () => {
      const caller = new Caller(origin);
      while (!isFull) {
        const id = `${length}-${created++}`;
        assert.ok(created < itemsMax, 'more items were created than the disk can hold');
        isFull ||= !(await isCreated(caller, id, length));
        if (!isFull) acknowledged.set(id, length);
      }
      caller.close();
    };
    await Promise.all(Array.from({ length: fillersAtOnce }, create));
  }
  return acknowledged;
}

/** @returns whether the item was created; otherwise the error must be the documented one */
async function isCreated(caller: Caller, id: string, length: number): Promise<boolean> {
  const outcome = await writeTable(caller, 'filling', [{ kind: 'create', id, name: 'f'.repeat(length) }]);
  assert.ok(outcome.kind === 'responded', 'a write to a full disk gets a response');
  if (outcome.status === 200) return true;
  const { body } = JSON.parse(outcome.text);
  const { code, retryable } = body.error;
  assert.deepEqual([outcome.status, code, retryable, body.complete], [507, 'storage_full', true, false]);
  return false;
}

/** Asserts that the filled table has all acknowledged items, and no rejected ones. */
async function assertHolds(origin: string, acknowledged: ReadonlyMap<string, number>): Promise<void> {
  const caller = new Caller(origin);
  const outcome = await readTable(caller, 'filling');
  caller.close();
  assert.ok(outcome.kind === 'responded' && outcome.status === 200);
  const items: readonly Item[] = itemsIn(outcome.text);
  const found = new Map(
    items.map(({ id, name }) => [id, name === 'f'.repeat(name.length) ? name.length : -1]),
  );
  assert.deepEqual(found, acknowledged);
}

/** Charges until the reservations of some cannot be written; the processor must not have received those. */
async function chargeUntilRejected(origin: string, ledger: Ledger): Promise<ChargeRequests> {
  const requests = new ChargeRequests();
  const caller = new Caller(origin);
  let rejected = 0;
  for (let n = 0; n < chargesMax && rejected < rejectedChargesWanted; n++) {
    const before = (await ledger.charges()).length;
    const status = await requests.sendOne(caller);
    const charges = (await ledger.charges()).length - before;
    if (status === 503 || status === 507) rejected++;
    // A charge that was made and could not be recorded is in doubt, and the response says so.
    assert.ok(charges === 0 || status === 200 || status === 504, `${status} for a charge that was made`);
  }
  caller.close();
  assert.equal(rejected, rejectedChargesWanted, 'charges are rejected while nothing can be written');
  return requests;
}

async function untilWritable(origin: string): Promise<void> {
  const caller = new Caller(origin);
  const giveUpAt = Date.now() + recoverMsMax;
  for (let attempt = 0; ; attempt++) {
    const outcome = await writeTable(caller, 'after', [{ kind: 'create', id: `after-${attempt}`, name: '' }]);
    if (outcome.kind === 'responded' && outcome.status === 200) break;
    assert.ok(Date.now() < giveUpAt, 'writes are still rejected although there is space');
    await sleep(50);
  }
  caller.close();
}

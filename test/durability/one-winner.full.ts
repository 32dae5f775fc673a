import assert from 'node:assert/strict';
import { readdirSync, readlinkSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { Caller } from '../support/caller.ts';
import { count, workers } from '../support/extent.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';
import { itemsIn, readTable, writeTable } from '../support/tables/table-operations.ts';

/** One of 64 concurrent creates of an id succeeds, and the others are rejected (promise 11). */
const table = 'prizes';
const callersAtOnce = 64;
const rounds = count({ short: 24, long: 2_000 });
/** Some rounds end with a kill: the acknowledged winner stays the winner. */
const roundsPerLife = count({ short: 12, long: 100 });

test('accepts one of 64 concurrent creates of an id', (t) => race(t, 1));

test('accepts one of 64 concurrent creates of an id, across processes', (t) => race(t, workers));

async function race(t: TestContext, processes: number): Promise<void> {
  const data = newData(t);
  const winners = new Map<string, string>();
  for (let first = 0; first < rounds; first += roundsPerLife) {
    const service = await ServeProcess.start(t, { data, workers: processes });
    const origin = await service.ready();
    const callers = Array.from({ length: callersAtOnce }, () => new Caller(origin));
    // Connects all callers first, so that the creates arrive together; one by one, so that each process gets its share.
    for (const caller of callers) await caller.send('GET', '/livez');
    if (processes > 1) assertSpread(service);
    for (let round = first; round < first + roundsPerLife; round++) {
      const id = `item-${round}`;
      winners.set(id, await winnerOf(callers, id));
    }
    for (const caller of callers) caller.close();
    await service.kill();
  }
  await assertStored(t, { data, winners });
}

/** @returns the name of the item after all callers have tried to create it */
async function winnerOf(callers: readonly Caller[], id: string): Promise<string> {
  const nameOf = (caller: number) => `${id} of caller ${caller}`;
  const responses = await Promise.all(
    callers.map((caller, index) => writeTable(caller, table, [{ kind: 'create', id, name: nameOf(index) }])),
  );
  const received = responses.map((response) =>
    response.kind === 'responded' ? response : assert.fail(response.kind),
  );
  const won = received.flatMap(({ status }, index) => (status === 200 ? [index] : []));
  assert.equal(won.length, 1, `${won.length} callers received a 200 for ${id}`);
  for (const { status, text } of received) {
    if (status === 200) continue;
    assert.equal(status, 409, text);
    const { body } = JSON.parse(text) as { body: { complete: boolean; error: { code: string } } };
    assert.deepEqual([body.complete, body.error.code], [false, 'item_exists']);
  }
  const winner = nameOf(won[0] as number);
  // Each caller, so each process, sees the winner at once.
  for (const response of await Promise.all(callers.slice(0, 8).map((caller) => readTable(caller, table)))) {
    assert.ok(response.kind === 'responded');
    assert.equal(itemsIn(response.text).find((item) => item.id === id)?.name, winner);
  }
  return winner;
}

async function assertStored(
  t: TestContext,
  { data, winners }: { data: string; winners: ReadonlyMap<string, string> },
): Promise<void> {
  const service = await ServeProcess.start(t, { data });
  const caller = new Caller(await service.ready());
  const response = await readTable(caller, table);
  caller.close();
  assert.ok(response.kind === 'responded');
  assert.deepEqual(new Map(itemsIn(response.text).map(({ id, name }) => [id, name])), winners);
}

/** Asserts that the callers are connected to more than one process. */
function assertSpread({ workerPids }: ServeProcess): void {
  const connected = workerPids.map(socketsOf);
  const busy = connected.filter((sockets) => sockets >= callersAtOnce / 8);
  assert.ok(busy.length > 1, `the processes hold ${connected.join(', ')} sockets`);
}

function socketsOf(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).filter((name) => isSocket(`${folder}/${name}`)).length;
}

/** The descriptor may have been closed since it was listed. */
function isSocket(path: string): boolean {
  try {
    return readlinkSync(path).startsWith('socket:');
  } catch {
    return false;
  }
}

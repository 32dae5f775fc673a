import assert from 'node:assert/strict';
import { test } from 'node:test';
import { busyMachineMs } from '../support/busy-machine.ts';
import { count } from '../support/extent.ts';
import { noLimits } from '../support/http/described-requests.ts';
import { create, payment, readPath } from '../support/http/documented-operations.ts';
import { startLedgerProcess } from '../support/ledger/ledger-process.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';

const shutdowns = count({ short: 10, long: 1_000 });
const callers = 12;
const shutdownMsMax = 10_000;
/** Responses before each shutdown, so that the service is under load then. */
const responsesBefore = 60;

test(`loses no response and no charge in ${shutdowns} shutdowns under load, and exits with 0 in time`, async (t) => {
  const ledger = await startLedgerProcess(t);
  const data = newData(t);
  const env = { ...noLimits, COUNTERFOIL_SIMULATED_LEDGER: ledger.origin };
  const charged = new Set<string>();
  const created = new Set<string>();
  for (let round = 0; round < shutdowns; round++) {
    const service = await ServeProcess.start(t, { data, env, simulate: true, shedsLate: true });
    const load = new Load(await service.ready(), round, charged, created);
    const running = load.run();
    await load.responded(responsesBefore);
    const began = performance.now();
    assert.equal(await service.terminate(), 0, service.errors);
    assert.ok(performance.now() - began < shutdownMsMax + busyMachineMs, 'in time');
    await running;
    assert.deepEqual(load.wrong, []);
  }
  const last = await ServeProcess.start(t, { data, env, simulate: true });
  const origin = await last.ready();
  const items = (await (await fetch(origin + readPath)).json()) as { body: { id: string }[] };
  const found = new Set(items.body.map(({ id }) => id));
  assert.deepEqual(
    [...created].filter((id) => !found.has(id)),
    [],
    'every item whose create returned 200 is there',
  );
  const recorded = (await ledger.charges()).map(({ chargeId }) => chargeId);
  assert.deepEqual(recorded.toSorted(), [...charged].sort(), 'every charge returned 200');
});

/** Callers that send one request after the other until the service has closed their connections. */
class Load {
  readonly wrong: string[] = [];
  #responses = 0;
  #n = 0;
  readonly #origin: string;
  readonly #label: number;
  readonly #charged: Set<string>;
  readonly #created: Set<string>;

  constructor(origin: string, label: number, charged: Set<string>, created: Set<string>) {
    this.#origin = origin;
    this.#label = label;
    this.#charged = charged;
    this.#created = created;
  }

  async run(): Promise<void> {
    await Promise.all(Array.from({ length: callers }, () => this.#sendUntilClosed()));
  }

  async responded(responses: number): Promise<void> {
    while (this.#responses < responses) await new Promise((resolve) => setImmediate(resolve));
  }

  async #sendUntilClosed(): Promise<void> {
    for (;;) {
      const id = `${this.#label}-${this.#n++}`;
      const isCharge = this.#n % 2 === 0;
      const body = isCharge ? payment.body : { id, name: id };
      const response = await fetch(`${this.#origin}${isCharge ? payment.path : create.path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(isCharge ? { 'idempotency-key': id } : {}) },
        body: JSON.stringify(body),
      }).catch(() => undefined);
      // The service rejected a new connection, or closed an idle one.
      if (response === undefined) return;
      const text = await response.text().catch((error) => `cut off: ${error}`);
      this.#responses++;
      this.#note(response.status, text, isCharge, id);
    }
  }

  #note(status: number, text: string, isCharge: boolean, id: string): void {
    const whole = /^\{"statusCode":(\d+),.*\}$/s.exec(text)?.[1];
    if (whole !== `${status}` || (status !== 200 && status !== 503)) this.wrong.push(`${status}: ${text}`);
    if (status !== 200) return;
    if (isCharge) this.#charged.add(JSON.parse(text).body.message.charge_id);
    else this.#created.add(id);
  }
}

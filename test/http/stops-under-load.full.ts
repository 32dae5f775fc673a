import assert from 'node:assert/strict';
import { test } from 'node:test';
import { busyMachineMs } from '../support/busy-machine.ts';
import { count } from '../support/extent.ts';
import { noLimits } from '../support/http/described-requests.ts';
import { create, payment, readPath } from '../support/http/documented-operations.ts';
import { startLedgerProcess } from '../support/ledger/ledger-process.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';

/** The conformance run asks for more of them. */
const stops = Number(process.env.STOPS ?? count({ short: 4, long: 1_000 }));
const callers = 12;
const stopMsMax = 10_000;
/** Answers that a service gives before it is told to stop: it is at work then. */
const answersBefore = 60;

test(`cuts no answer and loses no charge in ${stops} stops under load, each with exit 0 in time`, async (t) => {
  const ledger = await startLedgerProcess(t);
  const data = newData(t);
  const env = { ...noLimits, COUNTERFOIL_SIMULATED_LEDGER: ledger.origin };
  const charged = new Set<string>();
  const created = new Set<string>();
  for (let stop = 0; stop < stops; stop++) {
    const service = await ServeProcess.start(t, { data, env, simulate: true, shedsLate: true });
    const load = new Load(await service.ready(), stop, charged, created);
    const running = load.run();
    await load.answered(answersBefore);
    const began = performance.now();
    assert.equal(await service.terminate(), 0, service.errors);
    assert.ok(performance.now() - began < stopMsMax + busyMachineMs, 'in time');
    await running;
    assert.deepEqual(load.wrong, []);
  }
  const last = await ServeProcess.start(t, { data, env, simulate: true });
  const origin = await last.ready();
  const items = (await (await fetch(origin + readPath)).json()) as { body: { id: string }[] };
  const kept = new Set(items.body.map(({ id }) => id));
  assert.deepEqual(
    [...created].filter((id) => !kept.has(id)),
    [],
    'whatever was answered 200 is there',
  );
  const onBooks = (await ledger.charges()).map(({ chargeId }) => chargeId);
  assert.deepEqual(onBooks.toSorted(), [...charged].sort(), 'each charge that was made was answered');
});

/** Callers that ask one after the other until there is nobody to ask. */
class Load {
  readonly wrong: string[] = [];
  #answers = 0;
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
    await Promise.all(Array.from({ length: callers }, () => this.#askOnAndOn()));
  }

  async answered(answers: number): Promise<void> {
    while (this.#answers < answers) await new Promise((resolve) => setImmediate(resolve));
  }

  async #askOnAndOn(): Promise<void> {
    for (;;) {
      const id = `${this.#label}-${this.#n++}`;
      const isCharge = this.#n % 2 === 0;
      const body = isCharge ? payment.body : { id, name: id };
      const response = await fetch(`${this.#origin}${isCharge ? payment.path : create.path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(isCharge ? { 'idempotency-key': id } : {}) },
        body: JSON.stringify(body),
      }).catch(() => undefined);
      // A new connection is refused, or one without a request has been ended.
      if (response === undefined) return;
      const text = await response.text().catch((error) => `cut off: ${error}`);
      this.#answers++;
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

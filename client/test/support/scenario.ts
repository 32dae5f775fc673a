import { Counterfoil, CounterfoilError } from '../../src/index.ts';

/** Uses every part of the client, in the runtime that this file is run with: every runtime runs this file. @param argv the address of a service */
const url = (globalThis as { process?: { argv: string[] } }).process?.argv.at(-1) ?? '';
const client = new Counterfoil({ url });

function check(isTrue: boolean, what: unknown): void {
  if (!isTrue) throw new Error(JSON.stringify(what));
}

const table = client.table('runtimes');
await table.create({ id: 'a', name: 'ü"]}' });
await table.batch(
  Array.from({ length: 90 }, (_, index) => ({ create: { id: `b${index}`, name: '…'.repeat(3_000) } })),
);
let count = 0;
for await (const { id } of table.all()) if (id !== '') count++;
check(count === 91 && (await table.all()).length === 91, count);
for await (const _ of table.all()) break;
check((await table.get('a'))?.name === 'ü"]}' && (await table.get('none')) === undefined, 'get');

const payment = { processor: 'simulated', amount: 100, currency: 'EUR' };
for (const [token, status] of [
  ['tok_paid', 'succeeded'],
  ['tok_lost_card', 'declined'],
  ['tok_lost_reply', 'succeeded'],
] as const) {
  const result = await client.pay({ ...payment, token });
  check(result.status === status, result);
}
const slow = await client.pay({ ...payment, token: 'tok_slow', deadlineMs: 300 });
check(slow.status === 'unknown' && slow.reason === 'deadline', slow);
const controller = new AbortController();
setTimeout(() => controller.abort(), 300);
const aborted = await client.pay({ ...payment, token: 'tok_slow', signal: controller.signal });
check(aborted.status === 'unknown' && aborted.reason === 'aborted', aborted);

const closed = new Counterfoil({ url: 'http://127.0.0.1:65534' }).pay({
  ...payment,
  token: 'tok_paid',
  deadlineMs: 400,
});
const error = await closed.catch((thrown: unknown) => thrown);
// A runtime that does not say whether it connected gives an unknown outcome.
const code = error instanceof CounterfoilError ? error.code : (error as { status: string }).status;
const request = { provider: 'oidc', integration: 'web', returnUrl: 'https://app.example/' } as const;
check(/code_challenge=[\w-]{43}&/.test(await client.signIn.url(request)), 'url');
check((await client.signIn.session()) === undefined, 'session');
console.log(`complete, without a connection: ${code}`);

import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { audited } from '../access/audit.ts';
import { type OfflinePayments, openOfflinePayments } from '../app/offline/payments.ts';
import { ServiceError, SettingsError } from '../errors.ts';
import { cancelPayment } from '../payments/charge/cancel.ts';
import { findProcessor } from '../payments/context.ts';
import { writtenAmount } from '../payments/currencies.ts';
import type { Payment } from '../payments/payment.ts';
import { findPayment, paymentsSince } from '../payments/payment-store.ts';
import { publicPayment } from '../payments/public-payment.ts';
import { type Difference, reconcile } from '../payments/reconcile.ts';
import { refundPayment } from '../payments/refund/create.ts';
import { resolvePayment } from '../payments/resolve-payment.ts';
import { runSubcommand, withOpened } from './command.ts';
import { moment } from './timestamps.ts';

const usage = `Usage: counterfoil payments <command>

  list                    print payments in the order in which they were made
    --since TIME            from this time on: 2026-11-21 or 2026-11-21T10:00:00Z; by default a day ago
    --status STATUS         only of this status: calling, in_doubt, succeeded, declined, needs_review
    --processor NAME        only of this processor
    --limit N               at most this many; by default 100
    --json                  one JSON object a line
  show ID                 print a payment as JSON
  refund ID               refund all that is left
    --amount N              only this amount, in the unit of its route
    --key KEY               an idempotency key: the same key refunds once
  cancel ID               cancel a charge in doubt, unless it was made
  resolve ID              end a charge that needs review; must agree with the processor's records
    --succeeded CHARGE      it was made; CHARGE is its id at the processor
    --declined              it was not made
  reconcile PROCESSOR     compare our records with those of the processor; exit 1 if anything differs
    --from TIME             the beginning of the period; by default a day before its end
    --until TIME            the end of the period; by default now

These commands work while the service is running.
`;

const dayMs = 24 * 60 * 60 * 1_000;
const listedDefault = 100;

/** `counterfoil payments`: exits with 0, with 1 if a refund failed or records differ, with 2 if it could not run. */
export async function payments(args: readonly string[]): Promise<void> {
  const subcommands = { list, show, refund, cancel, resolve, reconcile: printDifferences };
  const opened = Object.entries(subcommands).map(([name, run]) => [
    name,
    (rest: readonly string[]) => withOpened(openOfflinePayments, (offline) => run(offline, rest)),
  ]);
  await runSubcommand(usage, Object.fromEntries(opened), args);
}

async function list({ payments: context }: OfflinePayments, args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      since: { type: 'string' },
      status: { type: 'string' },
      processor: { type: 'string' },
      limit: { type: 'string', default: String(listedDefault) },
      json: { type: 'boolean', default: false },
    },
  });
  let left = wholeNumber('--limit', values.limit);
  for await (const payment of paymentsSince(context, timeOr(Date.now() - dayMs, '--since', values.since))) {
    if (values.status !== undefined && payment.state !== values.status) continue;
    if (values.processor !== undefined && payment.processor !== values.processor) continue;
    if (left-- === 0) {
      process.stderr.write(`there are more: --since ${payment.createdAt}\n`);
      break;
    }
    process.stdout.write(`${values.json ? JSON.stringify(publicPayment(payment)) : lineOf(payment)}\n`);
  }
}

function lineOf({ id, createdAt, processor, route, state, amount, currency, chargeId }: Payment): string {
  const money = writtenAmount(amount, currency).padStart(16);
  return [id, createdAt, `${processor}/${route}`, state.padEnd(12), money, chargeId ?? '–'].join('  ');
}

async function show({ payments: context }: OfflinePayments, args: readonly string[]): Promise<void> {
  const payment = await thePayment(context, only(args, {}).id);
  process.stdout.write(`${JSON.stringify(publicPayment(payment), null, 2)}\n`);
}

async function refund({ payments: context }: OfflinePayments, args: readonly string[]): Promise<void> {
  const { id, values } = only(args, { amount: { type: 'string' }, key: { type: 'string' } });
  const payment = await thePayment(context, id);
  const requestId = randomUUID();
  const response = await refundPayment(context, {
    processor: payment.processor,
    route: payment.route,
    paymentId: id,
    amount: values.amount === undefined ? undefined : number('--amount', values.amount),
    idempotencyKey: values.key,
    caller: 'cli',
    requestId,
    audit: audited({ what: 'payment.refunded', on: id, by: 'cli', requestId }),
  });
  const { body } = JSON.parse(response.text) as { body: { error?: { message: string } } };
  process.stdout.write(`${body.error?.message ?? JSON.stringify(body, null, 2)}\n`);
  if (response.status !== 200) process.exitCode = 1;
}

async function cancel({ payments: context }: OfflinePayments, args: readonly string[]): Promise<void> {
  const payment = await thePayment(context, only(args, {}).id);
  const { id } = payment;
  const audit = audited({ what: 'payment.canceled', on: id, by: 'cli', requestId: randomUUID() });
  const after = await cancelPayment(context, payment, audit);
  process.stdout.write(`${id} is ${after.state}\n`);
  if (after.state !== 'declined') process.exitCode = 1;
}

async function resolve({ payments: context }: OfflinePayments, args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { succeeded: { type: 'string' }, declined: { type: 'boolean', default: false } },
  });
  const [id] = positionals;
  const { succeeded: chargeId, declined } = values;
  if (id === undefined || positionals.length > 1 || (chargeId !== undefined) === declined)
    throw new SettingsError([
      'payments resolve: needs one payment, and either --succeeded CHARGE or --declined',
    ]);
  const payment = await thePayment(context, id);
  const audit = audited({ what: 'payment.resolved', on: id, by: 'cli', requestId: randomUUID() });
  const resolution =
    chargeId === undefined ? ({ state: 'declined' } as const) : ({ state: 'succeeded', chargeId } as const);
  const after = await resolvePayment(context, payment, resolution, audit);
  process.stdout.write(`${id} is ${after.state}\n`);
}

async function printDifferences(
  { payments: context }: OfflinePayments,
  args: readonly string[],
): Promise<void> {
  const { id: name, values } = only(args, { from: { type: 'string' }, until: { type: 'string' } });
  const until = timeOr(Date.now(), '--until', values.until);
  const from = timeOr(until - dayMs, '--from', values.from);
  if (from >= until) throw new SettingsError(['--from: must be before --until']);
  const processor = findProcessor(context, name);
  const found = await reconcile(context, processor, { from, until }).catch((error: unknown) => {
    throw new SettingsError([`the records of ${name} cannot be read (${(error as Error).name})`]);
  });
  for (const difference of found.differences) process.stdout.write(`${sentenceOf(difference)}\n`);
  const { payments: ours, charges, others, differences } = found;
  const counts = `${ours} payments here, ${charges} charges there (and ${others} that are not ours)`;
  process.stdout.write(
    `${counts}: ${differences.length === 0 ? 'no difference' : `${differences.length} differences`}\n`,
  );
  if (differences.length > 0) process.exitCode = 1;
}

function sentenceOf({ paymentId, chargeId, what }: Difference): string {
  return `${paymentId ?? 'a payment'}${chargeId === undefined ? '' : ` (${chargeId})`} ${what}`;
}

async function thePayment(context: OfflinePayments['payments'], id: string): Promise<Payment> {
  const payment = await findPayment(context, id);
  if (payment === undefined) throw new ServiceError('payment_not_found');
  return payment;
}

/** Parses one id, and options. */
function only<Options extends Record<string, { type: 'string' }>>(args: readonly string[], options: Options) {
  const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options });
  const [id] = positionals;
  if (id === undefined || positionals.length > 1)
    throw new SettingsError(['payments: name one thing; see "payments help"']);
  return { id, values: values as Partial<Record<keyof Options, string>> };
}

function timeOr(otherwise: number, option: string, text: string | undefined): number {
  return text === undefined ? otherwise : moment(option, text);
}

function wholeNumber(option: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new SettingsError([`${option}: must be a whole number above 0`]);
  return Number(text);
}

function number(option: string, text: string): number {
  if (!/^\d{1,9}(\.\d{1,3})?$/.test(text)) throw new SettingsError([`${option}: must be an amount`]);
  return Number(text);
}

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
import { loadSettings } from '../settings/load.ts';
import { reportProblems } from './problems.ts';
import { moment } from './timestamps.ts';

const usage = `Usage: counterfoil payments <command>

  list                    payments in the order in which they were made
    --since MOMENT          from then on: 2026-11-21 or 2026-11-21T10:00:00Z; a day ago without it
    --status STATUS         of this status alone: calling, in_doubt, succeeded, declined, needs_review
    --processor NAME        of this processor alone
    --limit N               at most so many; 100 without it
    --json                  as JSON, one payment a line
  show ID                 everything that is known of a payment, as JSON
  refund ID               give it back
    --amount N              a part of it, in the unit of its route
    --key KEY               the same key again gives back once
  cancel ID               end a charge in doubt, unless it has been made
  resolve ID              end a charge that needs review, as the processor's books have it
    --succeeded CHARGE      it has been made, under this id of the processor's
    --declined              it has not been made
  reconcile PROCESSOR     hold our records against the processor's books; exit 1 if anything differs
    --from MOMENT           the period's beginning; a day ago without it
    --until MOMENT          its end; now without it

The service may be running meanwhile.
`;

const dayMs = 24 * 60 * 60 * 1_000;
const listedDefault = 100;

/** `counterfoil payments`: exit 0, 1 when the answer is no (a refund that failed, books that differ), 2 when it could not be told. */
export async function payments(args: readonly string[]): Promise<void> {
  const [command, ...rest] = args;
  try {
    if (command === 'list') await withBooks((books) => list(books, rest));
    else if (command === 'show') await withBooks((books) => show(books, rest));
    else if (command === 'refund') await withBooks((books) => refund(books, rest));
    else if (command === 'cancel') await withBooks((books) => cancel(books, rest));
    else if (command === 'resolve') await withBooks((books) => resolve(books, rest));
    else if (command === 'reconcile') await withBooks((books) => tellDifferences(books, rest));
    else {
      process[command === 'help' || command === undefined ? 'stdout' : 'stderr'].write(usage);
      if (command !== 'help' && command !== undefined) process.exitCode = 2;
    }
  } catch (error) {
    reportProblems(error);
  }
}

async function withBooks(work: (books: OfflinePayments) => Promise<void>): Promise<void> {
  const settings = loadSettings({ env: process.env, file: 'counterfoil.json', simulate: false });
  const books = await openOfflinePayments(settings);
  try {
    await work(books);
  } finally {
    await books.close();
  }
}

async function list({ payments: parts }: OfflinePayments, args: readonly string[]): Promise<void> {
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
  for await (const payment of paymentsSince(parts, momentOr(Date.now() - dayMs, '--since', values.since))) {
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

async function show({ payments: parts }: OfflinePayments, args: readonly string[]): Promise<void> {
  const payment = await thePayment(parts, only(args, {}).id);
  process.stdout.write(`${JSON.stringify(publicPayment(payment), null, 2)}\n`);
}

async function refund({ payments: parts }: OfflinePayments, args: readonly string[]): Promise<void> {
  const { id, values } = only(args, { amount: { type: 'string' }, key: { type: 'string' } });
  const payment = await thePayment(parts, id);
  const requestId = randomUUID();
  const answer = await refundPayment(parts, {
    processor: payment.processor,
    route: payment.route,
    paymentId: id,
    amount: values.amount === undefined ? undefined : number('--amount', values.amount),
    idempotencyKey: values.key,
    caller: 'cli',
    requestId,
    audit: audited({ what: 'payment.refunded', on: id, by: 'cli', requestId }),
  });
  const { body } = JSON.parse(answer.text) as { body: { error?: { message: string } } };
  process.stdout.write(`${body.error?.message ?? JSON.stringify(body, null, 2)}\n`);
  if (answer.status !== 200) process.exitCode = 1;
}

async function cancel({ payments: parts }: OfflinePayments, args: readonly string[]): Promise<void> {
  const payment = await thePayment(parts, only(args, {}).id);
  const { id } = payment;
  const audit = audited({ what: 'payment.canceled', on: id, by: 'cli', requestId: randomUUID() });
  const after = await cancelPayment(parts, payment, audit);
  process.stdout.write(`${id} is ${after.state}\n`);
  if (after.state !== 'declined') process.exitCode = 1;
}

async function resolve({ payments: parts }: OfflinePayments, args: readonly string[]): Promise<void> {
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
  const payment = await thePayment(parts, id);
  const audit = audited({ what: 'payment.resolved', on: id, by: 'cli', requestId: randomUUID() });
  const resolution =
    chargeId === undefined ? ({ state: 'declined' } as const) : ({ state: 'succeeded', chargeId } as const);
  const after = await resolvePayment(parts, payment, resolution, audit);
  process.stdout.write(`${id} is ${after.state}\n`);
}

async function tellDifferences({ payments: parts }: OfflinePayments, args: readonly string[]): Promise<void> {
  const { id: name, values } = only(args, { from: { type: 'string' }, until: { type: 'string' } });
  const until = momentOr(Date.now(), '--until', values.until);
  const from = momentOr(until - dayMs, '--from', values.from);
  if (from >= until) throw new SettingsError(['--from: must be before --until']);
  const processor = findProcessor(parts, name);
  const found = await reconcile(parts, processor, { from, until }).catch((error: unknown) => {
    throw new SettingsError([`the books of ${name} cannot be read (${(error as Error).name})`]);
  });
  for (const difference of found.differences) process.stdout.write(`${sentenceOf(difference)}\n`);
  const { payments: ours, charges, others, differences } = found;
  const told = `${ours} payments here, ${charges} charges there (and ${others} that are not ours)`;
  process.stdout.write(
    `${told}: ${differences.length === 0 ? 'no difference' : `${differences.length} differences`}\n`,
  );
  if (differences.length > 0) process.exitCode = 1;
}

function sentenceOf({ paymentId, chargeId, what }: Difference): string {
  return `${paymentId ?? 'a payment'}${chargeId === undefined ? '' : ` (${chargeId})`} ${what}`;
}

async function thePayment(parts: OfflinePayments['payments'], id: string): Promise<Payment> {
  const payment = await findPayment(parts, id);
  if (payment === undefined) throw new ServiceError('payment_not_found');
  return payment;
}

/** The one thing that a command is about, and its options. */
function only<Options extends Record<string, { type: 'string' }>>(args: readonly string[], options: Options) {
  const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options });
  const [id] = positionals;
  if (id === undefined || positionals.length > 1)
    throw new SettingsError(['payments: name one thing; see "payments help"']);
  return { id, values: values as Partial<Record<keyof Options, string>> };
}

function momentOr(otherwise: number, option: string, text: string | undefined): number {
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

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { look, newBrowser } from '../support/browser.ts';
import { givenUpMs } from '../support/busy-machine.ts';

const paid = 'Card that is charged';
const withoutFunds = 'Card without funds';
const asking = 'Card whose bank asks for confirmation';

test('sells a seat once at the price of the shop, and again after a refund on the command line', async (t) => {
  const { origin, refundCommand, openPage } = await startShop(t);
  const { page, violations } = await openPage();
  await page.goto(origin);
  await shows(page, 'Sign in to buy.');
  await page.getByRole('radio', { name: 'A1 €40.00' }).check();
  await page.getByRole('radio', { name: 'B1 €25.00' }).waitFor();
  assert.ok(await page.getByRole('button', { name: 'Pay €40.00' }).isDisabled(), 'nobody is signed in');
  await signIn(page, 'Ursula');

  await page.getByRole('radio', { name: 'A1 €40.00' }).check();
  await look(page, 'shop-1-seat', { fullPage: true });
  assert.deepEqual(await chargeOneCent(page, 'A1'), [400, 'amount_mismatch', 4_000]);
  await buy(page, 'A1', paid);
  await shows(page, 'You have seat A1.');
  const id = await ticketOf(page, 'A1', '€40.00');
  await seatIs(page, 'A1', 'taken');
  await look(page, 'shop-2-ticket', { fullPage: true });
  await page.reload();
  assert.equal(await ticketOf(page, 'A1', '€40.00'), id, 'the page reads the payment again');

  const { page: other } = await openPage();
  await other.goto(origin);
  await signIn(other, 'Octavia');
  await buy(other, 'A1', paid);
  await shows(other, 'Seat A1 is taken. Nothing was charged.');
  await seatIs(other, 'A1', 'taken');

  assert.match(await refundCommand(id), /^Refund ref_\S+ of 40\.00 EUR for pay_\S+: succeeded$/);
  await page.reload();
  await shows(page, `Seat A1: refunded, payment ${id}`);
  await other.reload();
  await buy(other, 'A1', paid);
  assert.notEqual(await ticketOf(other, 'A1', '€40.00'), id);
  assert.deepEqual(violations, []);
});

test('a declined card buys nothing, and leaves the seat free', async (t) => {
  const { origin, openPage } = await startShop(t);
  const { page } = await openPage();
  await page.goto(origin);
  await signIn(page, 'Ursula');
  await buy(page, 'A2', withoutFunds);
  await shows(page, 'Your card was declined: insufficient funds. Nothing was charged, and seat A2 is free.');
  await buy(page, 'A2', paid);
  await ticketOf(page, 'A2', '€40.00');
});

test('the bank approves or declines, and the page shows which when the buyer is back', async (t) => {
  const { origin, openPage } = await startShop(t);
  const { page, violations } = await openPage();
  await page.goto(origin);
  await signIn(page, 'Ursula');

  await buy(page, 'B1', asking);
  await page.getByRole('heading', { name: 'Confirm your payment' }).waitFor();
  assert.notEqual(new URL(page.url()).origin, origin);
  await look(page, 'shop-3-bank', { fullPage: true });
  await page.getByRole('button', { name: 'Decline' }).click();
  await shows(page, /^Your card was declined: .+ Nothing was charged, and seat B1 is free\.$/);
  assert.equal(page.url(), `${origin}/`);

  await buy(page, 'B2', paid);
  await ticketOf(page, 'B2', '€25.00');
  await buy(page, 'B1', asking);
  await page.getByRole('heading', { name: 'Confirm your payment' }).waitFor();
  await page.goBack();
  const { page: other } = await openPage();
  await other.goto(origin);
  await signIn(other, 'Octavia');
  await buy(other, 'B1', paid);
  await shows(other, 'Somebody is paying for seat B1. Try again in a minute.');
  await page.getByRole('link', { name: 'Confirm the payment at your bank' }).click();
  await page.getByRole('button', { name: 'Approve' }).click();
  await shows(page, 'You have seat B1.');
  await ticketOf(page, 'B1', '€25.00');
  assert.equal(page.url(), `${origin}/`);
  await page.emulateMedia({ colorScheme: 'dark' });
  await look(page, 'shop-4-ticket-dark', { fullPage: true });
  assert.deepEqual(violations, []);
});

test('a lost response is asked for again, and the card is charged once', async (t) => {
  const { origin, openPage, payments } = await startShop(t);
  const { page } = await openPage();
  await page.goto(origin);
  await signIn(page, 'Ursula');
  let lost = 0;
  await page.route('**/stage/payment/simulated/ticket', async (route) => {
    if (route.request().method() !== 'POST' || lost++ > 0) return route.continue();
    await route.fetch();
    return route.abort();
  });
  await buy(page, 'A3', paid);
  const id = await ticketOf(page, 'A3', '€40.00');
  assert.ok(lost > 1, 'the first response was lost');
  assert.deepEqual(await payments(), [id]);
});

async function signIn(page: Page, name: string): Promise<void> {
  await page.getByRole('link', { name: 'Sign in with Example' }).click();
  await page.getByPlaceholder('Enter any login').fill(name);
  await page.getByPlaceholder('and password').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
  await shows(page, `Signed in as ${name}.`);
}

async function buy(page: Page, seat: string, card: string): Promise<void> {
  await page.getByRole('radio', { name: seat }).check();
  await page.getByLabel(card).check();
  await page.getByRole('button', { name: 'Pay €' }).click();
}

/** Waits for the ticket of a seat. @returns the id of its payment */
async function ticketOf(page: Page, seat: string, price: string): Promise<string> {
  const ticket = page.getByRole('listitem').filter({ hasText: `Seat ${seat}: ${price}` });
  return (await ticket.locator('code').textContent()) ?? '';
}

async function seatIs(page: Page, seat: string, text: string): Promise<void> {
  const input = page.getByRole('radio', { name: `${seat} ${text}` });
  await input.waitFor();
  assert.ok(await input.isDisabled());
}

async function shows(page: Page, text: string | RegExp): Promise<void> {
  await page.getByText(text).waitFor();
}

/** What a buyer does who changes the request in the page. @returns the status, the error code and the price */
function chargeOneCent(page: Page, seat: string): Promise<unknown> {
  return page.evaluate(`(async () => {
    const { payments, key } = document.documentElement.dataset;
    const response = await fetch(payments + '/stage/payment/simulated/ticket', {
      method: 'POST',
      headers: { Authorization: 'Bearer ' + key, 'Content-Type': 'application/json' },
      body: JSON.stringify({ amount: 1, currency: 'EUR', token: 'tok_paid', metadata: { seat: '${seat}' } }),
    });
    const { error } = (await response.json()).body;
    return [response.status, error?.code, error?.expected?.amount];
  })()`);
}

/** Starts the shop as a reader would. */
async function startShop(t: TestContext) {
  const child = spawn(process.execPath, ['examples/shop/server.ts'], {
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let data = '';
  t.after(async () => {
    child.kill();
    await once(child, 'exit');
    assert.ok(data !== '' && !existsSync(data), 'the example removes its data');
  });
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (line.includes('payments refund')) break;
  }
  const origin = /Open (http:\/\/[\d.:]+)\//.exec(lines.join('\n'))?.[1];
  const command = lines.at(-1)?.trim() ?? '';
  data = /COUNTERFOIL_DATA=(\S+)/.exec(command)?.[1] ?? '';
  assert.ok(origin !== undefined, 'the example started');
  return {
    origin,
    openPage: () => openPage(t),
    refundCommand: (id: string) => shell(command.replace('pay_…', id)),
    /** The ids of all payments. */
    payments: async () => {
      const listed = await shell(command.replace('refund pay_…', 'list --json'));
      return listed.split('\n').map((line) => (JSON.parse(line) as { id: string }).id);
    },
  };
}

/** A buyer of their own: a new session, and the violations of the Content Security Policy. */
async function openPage(t: TestContext) {
  const page = await (await newBrowser(t, { viewport: { width: 800, height: 700 } })).newPage();
  page.setDefaultTimeout(givenUpMs);
  const violations: string[] = [];
  page.on('console', (message) => {
    if (/Content Security Policy/.test(message.text())) violations.push(message.text());
  });
  return { page, violations };
}

/** Runs a line in the folder of the project, as a reader does who copies it. */
async function shell(line: string): Promise<string> {
  const { PATH = '', HOME = '' } = process.env;
  const env = { PATH: `${resolve('node_modules/.bin')}:${PATH}`, HOME, npm_config_loglevel: 'error' };
  const { stdout } = await promisify(execFile)('sh', ['-c', line], { env });
  return stdout.trim();
}

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { look, newBrowser } from '../support/browser.ts';

test('signs in, gives consent, returns, shows the name and signs out, in a real browser', async (t) => {
  const { origin, page, context } = await start(t);
  await page.goto(origin);
  await page.getByText('You are not signed in.').waitFor();
  assert.ok(await page.getByRole('button', { name: 'Sign out' }).isHidden());
  await look(page, '1-not-signed-in');
  await signIn(page, 'Ursula');
  assert.equal(page.url(), `${origin}/`);
  assert.ok(await page.getByRole('link', { name: 'Sign in with Example' }).isHidden());
  await look(page, '4-signed-in');

  const [session, ...others] = (await context.cookies(origin)).filter(({ name }) => /counterfoil/.test(name));
  assert.deepEqual(others, [], 'the cookie of the pending sign-in is removed');
  assert.equal(session?.httpOnly, true);
  assert.equal(session?.sameSite, 'Lax');
  assert.ok(!String(await page.evaluate('document.cookie')).includes('counterfoil'));

  await page.reload();
  await page.getByText('Signed in as Ursula.').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You are not signed in.').waitFor();
});

test('shows a user who cancels what happened, with a link to try again', async (t) => {
  const { origin, page } = await start(t);
  const problems: string[] = [];
  page.on('console', (message) => problems.push(message.text()));
  await page.goto(origin);
  await page.getByRole('link', { name: 'Sign in with Example' }).click();
  await page.getByText('[ Cancel ]').click();
  const alert = page.getByRole('alert');
  await alert.waitFor();
  assert.match(await alert.innerText(), /did not let you in/);
  assert.match(await page.title(), /You are not signed in/);
  // The Content Security Policy allows the page's one style.
  assert.equal(await page.evaluate('getComputedStyle(document.querySelector("h1")).fontSize'), '24px');
  await look(page, '5-cancelled');
  await page.emulateMedia({ colorScheme: 'dark' });
  await look(page, '6-cancelled-dark');
  await page.getByRole('link', { name: 'Try again' }).click();
  await page.getByPlaceholder('Enter any login').waitFor();
  assert.deepEqual(
    problems.filter((text) => /Content Security Policy/.test(text)),
    [],
  );
});

test('stays signed in when a page of another origin sends a sign-out', async (t) => {
  const { origin, page, context } = await start(t);
  await page.goto(origin);
  await page.getByRole('link', { name: 'Sign in with Example' }).click();
  await signIn(page, 'Ursula', { isAtProvider: true });
  // The browser treats localhost and 127.0.0.1 as different sites.
  const hostile = createServer((_request, response) => {
    const form = `<form method="post" enctype="text/plain" action="${origin}/v3/auth/sign-out"><input name='{"a":"' value='"}'></form>`;
    response.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html><title>x</title>${form}`);
  }).listen(0, '127.0.0.1');
  await once(hostile, 'listening');
  t.after(() => hostile.close());
  const elsewhere = await context.newPage();
  await elsewhere.goto(`http://localhost:${(hostile.address() as AddressInfo).port}/`);
  await elsewhere.evaluate('document.forms[0].submit()');
  await elsewhere.waitForURL(`${origin}/**`);
  await elsewhere.goto(`http://localhost:${(hostile.address() as AddressInfo).port}/`);
  const fetched = await elsewhere.evaluate(
    `fetch('${origin}/v3/auth/sign-out', { method: 'POST', credentials: 'include',
       headers: { 'Content-Type': 'application/json' }, body: '{}' }).then(() => 'sent', () => 'blocked')`,
  );
  assert.equal(fetched, 'blocked');
  await page.goto(origin);
  await page.getByText('Signed in as Ursula.').waitFor();
});

async function signIn(page: Page, name: string, { isAtProvider = false } = {}): Promise<void> {
  if (!isAtProvider) await page.getByRole('link', { name: 'Sign in with Example' }).click();
  await page.getByPlaceholder('Enter any login').fill(name);
  await page.getByPlaceholder('and password').fill('any');
  if (!isAtProvider) await look(page, '2-login');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).waitFor();
  if (!isAtProvider) await look(page, '3-consent');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText(`Signed in as ${name}.`).waitFor();
}

/** Starts the example as a reader would, and an empty browser. */
async function start(t: TestContext): Promise<{ origin: string; page: Page; context: BrowserContext }> {
  const child = spawn(process.execPath, ['examples/sign-in/server.ts'], {
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(async () => {
    child.kill();
    await once(child, 'exit');
  });
  const context = await newBrowser(t, { viewport: { width: 800, height: 600 } });
  for await (const line of createInterface({ input: child.stdout })) {
    const origin = /Open (http:\/\/[\d.:]+)\//.exec(line)?.[1];
    if (origin !== undefined) return { origin, page: await context.newPage(), context };
  }
  throw new Error('the example did not start');
}

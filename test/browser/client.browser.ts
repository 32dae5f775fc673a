import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startServiceWithKeys } from '../support/access/keys.ts';
import { newBrowser } from '../support/browser.ts';
import { startTestService } from '../support/service.ts';
import { startSignIn } from '../support/sign-in/signing-in.ts';

/** An app on another origin than the service, which serves the built client. */
async function startApp(t: TestContext): Promise<string> {
  const dist = mkdtempSync(join(tmpdir(), 'counterfoil-client-'));
  execFileSync('node_modules/.bin/tsc', ['-p', 'client', '--outDir', dist]);
  const server = createServer(({ url = '/' }, response) => {
    const name = /^\/client\/([\w-]+\.js)$/.exec(url)?.[1];
    const type = name === undefined ? 'text/html' : 'text/javascript';
    response.writeHead(200, { 'content-type': type }).end(name && readFileSync(join(dist, name)));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.after(() => {
    server.close();
    server.closeAllConnections();
    rmSync(dist, { recursive: true });
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The beginning of every script in a page. */
const imports = "const { Counterfoil } = await import('/client/index.js');";
const script = (text: string) => `(async () => { ${imports} ${text} })()`;

test('uses tables and pays from a page of another origin', async (t) => {
  const app = await startApp(t);
  const { origin } = await startTestService(t, { env: { COUNTERFOIL_CORS_ORIGINS: app } });
  const page = await (await newBrowser(t)).newPage();
  await page.goto(app);
  const result = await page.evaluate(
    script(`
      const client = new Counterfoil({ url: '${origin}' });
      const books = client.table('books');
      await books.create({ id: 'emma', name: 'Austen' });
      const { etag } = await books.get('emma');
      await books.update({ id: 'emma', name: 'Jane Austen' }, { ifMatch: etag });
      const items = [];
      for await (const item of books.all()) items.push(item);
      const paid = await client.pay({ processor: 'simulated', amount: 100, currency: 'EUR', token: 'tok_paid' });
      const lost = await client.pay({ processor: 'simulated', amount: 100, currency: 'EUR', token: 'tok_lost_reply' });
      return [items, paid.status, paid.paymentId.slice(0, 4), lost.status];`),
  );
  assert.deepEqual(result, [[{ id: 'emma', name: 'Jane Austen' }], 'succeeded', 'pay_', 'succeeded']);
});

test('a page with a publishable key reads its payment with the client secret', async (t) => {
  const app = await startApp(t);
  const shop = { kind: 'publishable', scopes: ['payments:create'], origins: [app] } as const;
  const { service, keys } = await startServiceWithKeys(t, { shop });
  const page = await (await newBrowser(t)).newPage();
  await page.goto(app);
  const found = await page.evaluate(
    script(`
      const client = new Counterfoil({ url: '${service.origin}', key: '${keys.shop}' });
      const place = { processor: 'simulated' };
      const paid = await client.pay({ ...place, amount: 100, currency: 'EUR', token: 'tok_paid' });
      const { paymentId, clientSecret } = paid;
      const keyless = new Counterfoil({ url: '${service.origin}' });
      const payments = [client, keyless].map((each) => each.payments.get({ ...place, paymentId, clientSecret }));
      return (await Promise.all(payments)).map(({ status }) => status);
    `),
  );
  assert.deepEqual(found, ['succeeded', 'succeeded']);
});

test('signs in with PKCE, and refreshes once for two tabs', async (t) => {
  const app = await startApp(t);
  const returnUrl = `${app}/signed-in`;
  const { service } = await startSignIn(t, {
    env: { COUNTERFOIL_CORS_ORIGINS: app },
    fields: { return_urls: [returnUrl] },
  });
  const context = await newBrowser(t);
  const page = await context.newPage();
  const client = `new Counterfoil({ url: '${service.origin}', storage: localStorage })`;
  await page.goto(app);
  const request = JSON.stringify({ provider: 'oidc', integration: 'web', returnUrl });
  const url = await page.evaluate(script(`return ${client}.signIn.url(${request});`));
  await page.goto(String(url));
  await page.waitForURL(`${returnUrl}?code=*`);
  const token = await page.evaluate(
    script(`return (await ${client}.signIn.exchange(location.href)).accessToken;`),
  );
  assert.match(String(token), /^ey/);
  const other = await context.newPage();
  await other.goto(app);
  const tokenRequests: string[] = [];
  context.on('request', (sent) => {
    if (sent.method() === 'POST' && sent.url().endsWith('/token')) tokenRequests.push(sent.url());
  });
  const expire = `for (const key of Object.keys(localStorage)) if (key.endsWith('tokens'))
    localStorage[key] = JSON.stringify({ ...JSON.parse(localStorage[key]), expiresAt: 0 });`;
  await page.evaluate(expire);
  // Chromium shows a change of the storage to the other tab a moment later.
  await other.waitForFunction(
    `Object.keys(localStorage).some((key) => key.endsWith('tokens') && JSON.parse(localStorage[key]).expiresAt === 0)`,
  );
  const refresh = script(`return ${client}.signIn.accessToken();`);
  const [one, two] = await Promise.all([page.evaluate(refresh), other.evaluate(refresh)]);
  assert.equal(one, two);
  assert.equal(tokenRequests.length, 1);
});

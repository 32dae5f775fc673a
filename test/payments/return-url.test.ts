import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { checkReturnUrl } from '../../src/payments/charge/request.ts';
import { bearing, newKey } from '../support/access/keys.ts';
import { payerPrice } from '../support/payments/payer-price.ts';
import { writeSettings } from '../support/payments/settings-file.ts';
import { path, startWithStripe } from '../support/payments/stripe-service.ts';
import { newDataFolder } from '../support/service.ts';
import { redirectUrls } from '../support/sign-in/redirect-urls.ts';

const shop = 'https://app.example.com';
const policy = { unit: 'minor' } as const;

function accepted(text: string, origins: readonly string[] | 'loopback' = [shop]): string | undefined {
  try {
    return checkReturnUrl(text, origins, policy);
  } catch (error) {
    assert.equal((error as { code?: string }).code, 'invalid_request', `${text}: ${error}`);
    return undefined;
  }
}

test('sends nobody to another origin, whatever the return_url', () => {
  const urls = redirectUrls.map((url) => [url, accepted(url)] as const);
  for (const [url, href] of urls) if (href !== undefined) assert.equal(new URL(href).origin, shop, url);
  assert.ok(urls.filter(([, href]) => href === undefined).length > redirectUrls.length / 2);
});

test('no generated return_url leaves the allowed origin', () => {
  const pieces = fc.constantFrom(
    'https:',
    '//',
    '/',
    '\\',
    '@',
    ':',
    '#',
    '?',
    '%2f',
    '.',
    'app.example.com',
    'x',
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(pieces, fc.string({ maxLength: 3 })), { maxLength: 12 }), (parts) => {
      const href = accepted(parts.join(''));
      if (href !== undefined) assert.equal(new URL(href).origin, shop);
    }),
    { numRuns: 5_000 },
  );
});

test('accepts any page of an allowed origin, and http on this machine only', () => {
  for (const url of [`${shop}/paid?cart=7#seat`, `${shop}`]) assert.equal(accepted(url), new URL(url).href);
  assert.equal(accepted('http://app.example.com/'), undefined);
  assert.equal(accepted('http://localhost:3000/paid', 'loopback'), 'http://localhost:3000/paid');
  assert.equal(accepted('https://app.example.com/', 'loopback'), undefined);
  assert.equal(accepted(`${shop}/${'a'.repeat(2_048)}`), undefined);
});

test('accepts pages only: no scheme that has the origin of a page without being one, nor any other', () => {
  const ofRoute = { ...policy, return_urls: [shop, 'http://app.example.com'] };
  const inner = [`${shop}/2c1e9f0a`, 'http://localhost:3000/2c1e9f0a', 'http://app.example.com/x'];
  for (const scheme of [
    'blob:',
    'BLOB:',
    'filesystem:',
    'view-source:',
    'data:text/html,',
    'javascript:',
    '',
  ])
    for (const page of scheme === '' ? ['ftp://app.example.com/', 'wss://app.example.com/'] : inner) {
      const url = `${scheme}${page}`;
      assert.equal(accepted(url), undefined, url);
      assert.equal(accepted(url, 'loopback'), undefined, url);
      assert.throws(() => checkReturnUrl(url, [], ofRoute), { code: 'invalid_request' }, url);
    }
});

test('a publishable key returns to its own origins, a secret key to those of the route', async (t) => {
  const data = newDataFolder(t);
  const fields = { kind: 'publishable', scopes: ['payments:create'], origins: [shop] } as const;
  const page = { ...bearing(await newKey(data, fields)), origin: shop };
  const { service, stripe } = await startWithStripe(t, { data, file: writeSettings(t, payerPrice) });
  const charge = (key: object, return_url: string) =>
    service.post(
      path,
      { amount: 1_050, currency: 'EUR', token: 'tok_requires_action', return_url },
      { ...key },
    );
  assert.ok((await charge(page, `${shop}/paid`)).text.includes('next_action'));
  for (const [key, url] of [
    [page, 'https://attacker.example/'],
    [{}, `${shop}/paid`],
  ] as const) {
    const { status, json } = await charge(key, url);
    assert.deepEqual([status, json.body.error.param], [400, 'return_url']);
  }
  assert.equal(stripe.records().intents.length, 1);
});

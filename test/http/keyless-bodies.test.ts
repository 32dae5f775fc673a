import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '../support/http/documented-operations.ts';
import { assertError } from '../support/http/error-response.ts';
import { exchange, requestText } from '../support/http/raw-http.ts';
import { startTestService } from '../support/service.ts';

const kibibyte = 1024;
const json = { 'Content-Type': 'application/json' };
/** Routes that need no key, each with the largest body that it accepts. */
const bounds: readonly (readonly [path: string, bytesMax: number])[] = [
  ['/v3/auth/sign-out', 16 * kibibyte],
  ['/v3/auth/google/shop/token', 16 * kibibyte],
  ['/v3/auth/oidc/shop/token', 16 * kibibyte],
  ['/stage/events/stripe', 256 * kibibyte],
  ['/stage/events/square', 256 * kibibyte],
];

for (const [path, bytesMax] of bounds) {
  test(`accepts a body of ${bytesMax} bytes at ${path}, and rejects one byte more`, async (t) => {
    const { origin } = await startTestService(t, {
      env: { COUNTERFOIL_STRIPE_WEBHOOK_SECRETS: 'whsec_abc' },
    });
    const headers = { ...json, 'Content-Length': `${bytesMax}` };
    const whole = await exchange(origin, requestText(origin, `POST ${path}`, headers) + bodyOf(bytesMax));
    assert.notEqual(whole.status, 413);

    // The error comes before the body.
    const longer = { ...json, 'Content-Length': `${bytesMax + 1}` };
    const rejected = await exchange(origin, requestText(origin, `POST ${path}`, longer));
    assertError(rejected, { status: 413, code: 'body_too_large' });

    const chunked = requestText(origin, `POST ${path}`, { ...json, 'Transfer-Encoding': 'chunked' });
    const chunk = `${(bytesMax + 1).toString(16)}\r\n${bodyOf(bytesMax + 1)}\r\n`;
    assertError(await exchange(origin, chunked + chunk), { status: 413, code: 'body_too_large' });
  });
}

test('accepts a larger body on routes that need a key', async (t) => {
  const { post } = await startTestService(t);
  assert.equal((await post(create.path, { id: 'a', name: 'x'.repeat(300 * kibibyte) })).status, 200);
});

/** JSON of this number of bytes. */
function bodyOf(bytes: number): string {
  const start = '{"grant_type":"refresh_token","refresh_token":"';
  return `${start}${'a'.repeat(bytes - start.length - 2)}"}`;
}

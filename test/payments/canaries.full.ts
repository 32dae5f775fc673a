import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAbsent, filesIn } from '../support/canaries.ts';
import { ServeProcess } from '../support/serve-process.ts';
import { adminKey, startTestService } from '../support/service.ts';
import { startScriptedStripe } from '../support/stripe/scripted-stripe.ts';
import { tryToPost } from '../support/try-to-send.ts';

const stripePath = '/stage/payment/stripe/charge';
const simulatedPath = '/stage/payment/simulated/charge';
const webhookSecret = 'whsec_CanaryOfTheWebhook';
const card = '4000002500003155';
const email = 'canary.of.a.receipt@example.org';
const printedCard = card.replace(/(\d{4})(?=\d)/g, '$1 ');

test('no token, card number, address, key or secret appears in clear anywhere, whatever the outcome of the charge', async (t) => {
  const stripe = await startScriptedStripe(t);
  const settings = {
    COUNTERFOIL_STRIPE_KEY: stripe.key,
    COUNTERFOIL_STRIPE_API_BASE: stripe.origin,
    COUNTERFOIL_STRIPE_WEBHOOK_SECRETS: webhookSecret,
    COUNTERFOIL_LOG_LEVEL: 'debug',
  };
  const service = await startTestService(t, { env: settings });
  const responses: string[] = [];
  const post = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
    const { text, headers: responseHeaders } = await service.post(path, body, headers);
    responses.push(text, JSON.stringify([...responseHeaders]));
  };
  const request = { amount: 1_050, currency: 'EUR' };
  const tokens = [
    // Except those that the simulated processor recommends in a response.
    'tok_visa',
    'tok_expired_card',
    'tok_authentication_required',
    'tok_canary_without_a_script',
    'tok_bad_key',
    'tok_error_after_charging',
    'tok_dropped_after_charging',
    'tok_1NZkQ82eZvKYlo2CanaryOne',
  ];
  const keys = tokens.map((_, index) => `canary-key-of-order-${index}`);
  for (const [index, token] of tokens.entries()) {
    const headers = { 'idempotency-key': keys[index] as string };
    await post(stripePath, { ...request, token, receipt_email: email }, headers);
    await post(stripePath, { ...request, token, amount: 1_051, receipt_email: email }, headers);
    await post(simulatedPath, { ...request, token });
  }
  for (const field of ['token', 'currency', 'amount', 'metadata', card]) {
    await post(stripePath, { ...request, token: 'tok_visa', [field]: card });
    await post(stripePath, { ...request, token: 'tok_visa', metadata: { [field]: printedCard } });
    await post(stripePath, { ...request, token: 'tok_visa', metadata: { [`${field}_card`]: card } });
  }
  await post(stripePath, `{"token":"${card}"`);
  await post(stripePath, { ...request, token: 'tok_visa' }, { 'idempotency-key': printedCard });
  await post('/stage/events/stripe', `{"id":"${card}"}`, { 'stripe-signature': `t=1,v1=${webhookSecret}` });
  const logged = Buffer.from(service.logged());
  await service.stop();
  assertAbsent([...tokens, ...keys, email, card, printedCard, webhookSecret, stripe.key], {
    ...filesIn(service.data),
    responses: Buffer.from(responses.join('\n')),
    log: logged,
  });
});

test('a killed process leaves no token in clear on disk or in its output', async (t) => {
  const stripe = await startScriptedStripe(t);
  stripe.holds = true;
  const token = 'tok_1NZkQ82eZvKYlo2CanaryTwo';
  const env = { COUNTERFOIL_STRIPE_KEY: stripe.key, COUNTERFOIL_STRIPE_API_BASE: stripe.origin };
  const { data } = await startTestService(t);
  const authorization = `Bearer ${await adminKey(`${data}-killed`)}`;
  const service = await ServeProcess.start(t, { data: `${data}-killed`, env });
  const request = { amount: 1_050, currency: 'EUR', token };
  const paying = tryToPost((await service.ready()) + stripePath, request, { authorization });
  while (stripe.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  await service.kill();
  assert.equal(await paying, undefined);
  const files = filesIn(`${data}-killed`);
  assert.ok(files['store.mdb']?.includes('sealedToken'), 'the charge is open, so its token is stored');
  assertAbsent([token, stripe.key], { ...files, errors: Buffer.from(service.errors) });
});

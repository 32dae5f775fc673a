import type { FastifyReply } from 'fastify';
import { countedAddress, isLoopback, isWebOrigin } from '../../../src/addresses.ts';
import { ifMatch, isUnchanged } from '../../../src/http/response/conditional-requests.ts';
import { wantedCoding } from '../../../src/http/response/content-negotiation.ts';
import { Cookies } from '../../../src/http/response/cookies.ts';
import { parseTraceparent } from '../../../src/opentelemetry/traces.ts';
import { holdsCardNumber } from '../../../src/payments/card-number.ts';
import { checkChargeRequest, checkIdempotencyKey } from '../../../src/payments/charge/request.ts';
import { returnAddress } from '../../../src/sign-in/begin-sign-in.ts';
import { readRegistration } from '../../../src/sign-in/registration.ts';
import { parseRefreshToken } from '../../../src/sign-in/tokens/refresh-family.ts';
import { isChallenge } from '../../../src/sign-in/tokens/sign-in-code.ts';
import { isPlainName, parseStrictJson } from '../../../src/strict-json.ts';
import { checkId, checkItem, tableSpace } from '../../../src/tables/table-item.ts';

/**
 * Every check of a request that can be called directly, as a function of the text that a caller sends. Add a line here
 * for a new check.
 */
export const pureChecks: Readonly<Record<string, (text: string) => unknown>> = {
  'strict JSON': json((text) => text),
  'strict JSON: a number': json((text) => `{"amount":${text}}`),
  'strict JSON: a list': json((text) => `[${text}0]`),
  'strict JSON: a string': json((text) => `{"id":"${text}"}`),
  'strict JSON: the name of a field': json((text) => `{"${text}":1}`),
  'strict JSON: fields': json((text) => `{${text}"":1}`),
  'the name of a field': isPlainName,

  'a card number': (text) => holdsCardNumber(text, 'any'),
  'a card number alone': (text) => holdsCardNumber(text, 'alone'),
  'an idempotency key': (text) => checkIdempotencyKey(text),
  'a quoted idempotency key': (text) => checkIdempotencyKey(`"${text}"`),
  'a token': (token) => checkChargeRequest({ ...charge, token }, policy),
  'a currency': (currency) => checkChargeRequest({ ...charge, currency }, policy),
  'a value of metadata': (value) => checkChargeRequest({ ...charge, metadata: { order: value } }, policy),
  'a name of metadata': (name) => checkChargeRequest({ ...charge, metadata: { [name]: '1' } }, policy),

  'a description': (description) => checkChargeRequest({ ...charge, description }, policy),
  'a statement descriptor suffix': (statementDescriptorSuffix) =>
    checkChargeRequest({ ...charge, statementDescriptorSuffix }, policy),
  'an email address': (receiptEmail) => checkChargeRequest({ ...charge, receiptEmail }, policy),
  'the domain of an email address': (text) =>
    checkChargeRequest({ ...charge, receiptEmail: `a@${text}` }, policy),

  'a table name': tableSpace,
  'an item id': (text) => checkId(text),
  'an item name': (name) => checkItem({ id: 'a', name }),

  'a client id': (text) => readRegistration('google', { ...credentials, IDP_CLIENT_ID: text }),
  'an issuer': (text) => readRegistration('oidc', { ...credentials, IDP_ISSUER: text }),
  'an issuer on a host': (text) =>
    readRegistration('oidc', { ...credentials, IDP_ISSUER: `https://${text}` }),
  'a return URL': (text) => readRegistration('google', { ...credentials, return_urls: [`https://a${text}`] }),
  'a scope': (text) => readRegistration('google', { ...credentials, scopes: [text] }),
  'an unknown credential': (text) => readRegistration('google', { ...credentials, [text]: '1' }),
  'where a sign-in returns to': (text) =>
    returnAddress(text, { origin: 'https://a.example', returnUrls: ['https://b.example/'], home: '/' }),
  'a path that a sign-in returns to': (text) =>
    returnAddress(`/${text}`, { origin: 'https://a.example', returnUrls: [], home: '/' }),
  'a refresh token': parseRefreshToken,
  'a code challenge': isChallenge,

  'If-Match': (text) => ifMatch(text),
  'If-None-Match': (text) => isUnchanged(text, 'AAAA'),
  // The result for a repeated value is cached.
  'Accept-Encoding': (text) => wantedCoding(`${text}${count++}`),
  'a cookie': (text) => new Cookies('https://a.example').read(text, 'counterfoil-session'),
  'cookies of a name': (text) => new Cookies('http://127.0.0.1').startingWith(text, 'a'),
  'the clearing of a cookie': (text) => new Cookies('http://127.0.0.1').clear(nowhere, text),
  traceparent: parseTraceparent,
  'an address': countedAddress,
  'an address of IPv6': (text) => countedAddress(`::${text}`),
  'a loopback host': isLoopback,
  'an origin': isWebOrigin,
};

let count = 0;
const policy = { unit: 'minor' } as const;
const charge = {
  processor: 'simulated',
  route: 'charge',
  amount: 1050,
  currency: 'EUR',
  token: 'tok_paid',
  idempotencyKey: undefined,
  needsPrice: false,
  caller: '',
  requestId: 'req_1',
};
const credentials = { IDP_CLIENT_ID: 'client', IDP_CLIENT_SECRET: 'secret' };
const nowhere = { header: () => nowhere } as unknown as FastifyReply;

function json(startContent: (text: string) => string): (text: string) => unknown {
  return (text) => parseStrictJson(Buffer.from(startContent(text)));
}

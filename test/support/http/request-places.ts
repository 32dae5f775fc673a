import {
  idempotencyKeyCharactersMax,
  metadataKeysMax,
  metadataValueCharactersMax,
} from '../../../src/payments/limits.ts';
import { create, integration, payment, readPath, update } from './documented-operations.ts';
import { requestText } from './raw-http.ts';

/** A place of a request where a caller can put a text. */
export interface RequestPlace {
  /** A body may have 1 MiB, and the headers 16 KiB. */
  readonly isBody: boolean;
  /** If the service checks only this number of bytes, the text is cut off there. */
  readonly bytesMax?: number;
  readonly requestOf: (origin: string, text: string) => string;
}

const json = { 'Content-Type': 'application/json' };

function header(name: string, line = `GET ${readPath}`, sentAs = (text: string) => text): RequestPlace {
  return {
    isBody: false,
    requestOf: (origin, text) => requestText(origin, line, { ...json, [name]: sentAs(text) }),
  };
}

function path(pathOf: (text: string) => string, method = 'GET'): RequestPlace {
  // A space or a tab would end the path.
  const withoutBlanks = (text: string) => text.replaceAll(/[ \t]/g, '+');
  return {
    isBody: false,
    requestOf: (origin, text) => requestText(origin, `${method} ${pathOf(withoutBlanks(text))}`, json),
  };
}

function body(method: string, route: string, bodyOf: (text: string) => string, headers = {}): RequestPlace {
  return {
    isBody: true,
    requestOf: (origin, text) =>
      requestText(origin, `${method} ${route}`, { ...json, ...headers }, bodyOf(text)),
  };
}

/** A body with a text as the value of one field; `isRaw` if the field is not a string. */
function field(name: string, fields: Readonly<Record<string, unknown>>, isRaw = false) {
  const others = { ...fields };
  delete others[name];
  const rest = JSON.stringify(others).slice(1);
  const comma = rest === '}' ? '' : ',';
  return (text: string) => `{"${name}":${isRaw ? text : `"${text}"`}${comma}${rest}`;
}

const chargeLine = `POST ${payment.path}`;
const tokenPath = '/v3/auth/google/shop/token';
const code = {
  grant_type: 'authorization_code',
  code: 'a',
  code_verifier: 'b',
  return_url: 'https://a.example/',
};

/** The maximum number of values, each with a part of the text. */
function metadataOf(text: string): string {
  const characters = Math.ceil(text.length / metadataKeysMax);
  const values = Array.from({ length: metadataKeysMax }, (_, n) =>
    text.slice(n * characters, (n + 1) * characters),
  );
  return `{${values.map((value, n) => `"k${n}":"${value}"`).join()}}`;
}

let count = 0;

/** Every place of a request that the service checks, over HTTP. Add a line here for a new header or field. */
export const requestPlaces: Readonly<Record<string, RequestPlace>> = {
  'header Authorization': header('Authorization'),
  'header Authorization, behind Bearer': header(
    'Authorization',
    `GET ${readPath}`,
    (text) => `Bearer ${text}`,
  ),
  'header X-Forwarded-For': header('X-Forwarded-For'),
  'header Host': header('Host'),
  'header Origin': header('Origin'),
  'header Origin, of a preflight': {
    isBody: false,
    requestOf: (origin, text) =>
      requestText(origin, `OPTIONS ${payment.path}`, {
        Origin: text,
        'Access-Control-Request-Method': 'POST',
      }),
  },
  'header Access-Control-Request-Method': {
    isBody: false,
    requestOf: (origin, text) =>
      requestText(origin, `OPTIONS ${payment.path}`, {
        Origin: 'https://shop.example',
        'Access-Control-Request-Method': text,
      }),
  },
  'header Sec-Fetch-Site': header('Sec-Fetch-Site', 'POST /v3/auth/sign-out'),
  'header If-None-Match': header('If-None-Match'),
  'header If-Match': header('If-Match', `PUT ${update.path}`),
  // The result for a repeated value is cached.
  'header Accept-Encoding': header('Accept-Encoding', `GET ${readPath}`, (text) => `${text}${count++}`),
  'header Accept': header('Accept', 'GET /docs'),
  'header Cookie': header('Cookie', 'GET /v3/auth/session'),
  'header Cookie, of a sign-in': header('Cookie', 'GET /v3/auth/google/shop/sign-in'),
  'header Content-Type': header('Content-Type', `POST ${create.path}`),
  'header Content-Type, parameters': header(
    'Content-Type',
    `POST ${create.path}`,
    (text) => `application/json;${text}`,
  ),
  'header Content-Type, of a sign-out': header(
    'Content-Type',
    'POST /v3/auth/sign-out',
    (text) => `application/json${text}`,
  ),
  'header Content-Encoding': header('Content-Encoding', `POST ${create.path}`),
  'header Idempotency-Key': header('Idempotency-Key', chargeLine),
  'header traceparent': header('traceparent', chargeLine),
  'header Stripe-Signature': header('Stripe-Signature', 'POST /stage/events/stripe'),
  'header Stripe-Signature, behind a time': header(
    'Stripe-Signature',
    'POST /stage/events/stripe',
    (text) => `t=1,v1=${text}`,
  ),
  'header Expect': header('Expect', `POST ${create.path}`),
  'header Connection': header('Connection'),
  'header Range': header('Range', 'GET /docs/static/swagger-ui.css'),

  'path without a route': path((text) => `/${text}`),
  'path of a table': path((text) => `/v3/table/${text}/read`),
  'path of a payment': path((text) => `${payment.path}/${text}`),
  'path of an integration': path((text) => `/v3/service/auth/google/${text}`),
  'path of the documentation': path((text) => `/docs/${text}`),
  'query of a read': path((text) => `${readPath}?id=${text}`),
  'query of a page': path((text) => `${readPath}?limit=${text}&after=${text}`),
  'query of payments': path((text) => `${payment.path}?since=${text}`),
  'query of a price': path((text) => `${payment.path}/price?sku=${text}`),
  'query with an idempotency key': path((text) => `${payment.path}?idempotency_key=${text}`),
  'unknown query': path((text) => `${readPath}?${text}`),
  'query of a sign-in': path((text) => `/v3/auth/google/shop/sign-in?return_to=${text}`),
  'query of a callback': path((text) => `/v3/auth/google/shop/callback?state=${text}&code=${text}`),

  'body as it is': body('POST', create.path, (text) => text),
  'body that has a number': body('POST', payment.path, field('amount', payment.body, true)),
  'body that has a list': body('POST', create.path, (text) => `[${text}0]`),
  'body that has fields': body('POST', create.path, (text) => `{${text}"":1}`),
  'body of a create: id': body('POST', create.path, field('id', create.body)),
  'body of a create: name': body('POST', create.path, field('name', create.body)),
  'body of an update: name': body('PUT', update.path, field('name', update.body), { 'If-Match': '"a"' }),
  'body of a batch': body(
    'POST',
    '/v3/table/books/batch',
    (text) => `{"writes":[${text}{"delete":{"id":"a"}}]}`,
  ),
  'body of a charge: token': body('POST', payment.path, field('token', payment.body)),
  'body of a charge: currency': body('POST', payment.path, field('currency', payment.body)),
  'body of a charge: description': body('POST', payment.path, field('description', payment.body)),
  'body of a charge: statement descriptor suffix': body(
    'POST',
    payment.path,
    field('statement_descriptor_suffix', payment.body),
  ),
  'body of a charge: receipt email': body('POST', payment.path, field('receipt_email', payment.body)),
  'body of a charge: metadata': body('POST', payment.path, (text) =>
    field('metadata', payment.body, true)(`{${text}"":"1"}`),
  ),
  'body of a charge: values of metadata': {
    // The invalid key, which is checked last, rejects the request, so that nothing is charged.
    ...body('POST', payment.path, (text) => field('metadata', payment.body, true)(metadataOf(text)), {
      'Idempotency-Key': 'k'.repeat(idempotencyKeyCharactersMax + 1),
    }),
    bytesMax: metadataKeysMax * metadataValueCharactersMax,
  },
  'body of an integration: client id': body(
    'POST',
    integration.path,
    field('IDP_CLIENT_ID', integration.body),
  ),
  'body of an integration: return URL': body('POST', integration.path, (text) =>
    field('return_urls', integration.body, true)(`["https://a.example/${text}"]`),
  ),
  'body of an integration: scope': body('POST', integration.path, (text) =>
    field('scopes', integration.body, true)(`["${text}"]`),
  ),
  'body for a token: code': body('POST', tokenPath, field('code', code)),
  'body for a token: return URL': body('POST', tokenPath, field('return_url', code)),
  'body for a token: grant type': body('POST', tokenPath, field('grant_type', code)),
  'body of a sign-out': body('POST', '/v3/auth/sign-out', (text) => `{"everywhere":${text}}`),
  'body of an event': body('POST', '/stage/events/stripe', (text) => text, {
    'Stripe-Signature': 't=1,v1=a',
  }),
};

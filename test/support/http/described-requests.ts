import assert from 'node:assert/strict';
import type { TestResponse, TestService } from '../service.ts';

/** The part of JSON Schema that /openapi.json uses. */
export interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
}

export interface Parameter {
  readonly in: 'path' | 'query' | 'header';
  readonly name: string;
  readonly schema?: Schema;
}

/** An operation as /openapi.json describes it. */
export interface Described {
  readonly method: string;
  /** A parameter is written as `{NAME}`. */
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body: Schema | undefined;
}

export type Values = Readonly<Record<string, string>>;

/** Rate limits that no test reaches. */
export const noLimits = {
  COUNTERFOIL_LIMIT_REQUESTS: '1000000',
  COUNTERFOIL_LIMIT_CHARGES: '1000000',
  COUNTERFOIL_LIMIT_DECLINES: '1000000',
};

/** Names that exist. */
const knownNames: Values = {
  TABLE_NAME: 'books',
  processor: 'simulated',
  route_id: 'charge',
  payment_id: 'pay_unknown',
  identity_provider: 'google',
  INTEGRATION_NAME: 'shop',
  key_id: '0123456789abcdef',
};

const knownFields: Readonly<Record<string, unknown>> = {
  amount: 1_050,
  currency: 'EUR',
  token: 'tok_paid',
  id: 'a',
  name: 'Alpha',
  IDP_CLIENT_ID: 'client-1',
  IDP_CLIENT_SECRET: 'secret-1',
  grant_type: 'authorization_code',
};

/** Every operation of the OpenAPI document of a service. */
export async function describedOperations(service: TestService): Promise<Described[]> {
  const document = (await service.get('/openapi.json')).json;
  const { paths } = resolved(document, document) as {
    // biome-ignore lint/suspicious/noExplicitAny: the document is checked by use
    readonly paths: Readonly<Record<string, Readonly<Record<string, any>>>>;
  };
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      parameters: operation.parameters ?? [],
      body: operation.requestBody?.content['application/json']?.schema,
    })),
  );
}

/** A part of a document with its references replaced by what they refer to, and `oneOf` by `anyOf`. */
function resolved(part: unknown, document: object): unknown {
  if (Array.isArray(part)) return part.map((each) => resolved(each, document));
  if (typeof part !== 'object' || part === null) return part;
  const { $ref } = part as { readonly $ref?: string };
  if (typeof $ref === 'string') {
    const steps = $ref.split('/').slice(1);
    const target = steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], document);
    return resolved(target, document);
  }
  // A property with the schema `false` must be absent.
  const given = Object.entries(part).filter(
    ([key, value]) => value !== false || key === 'additionalProperties',
  );
  const entries = given.map(([key, value]) => [key === 'oneOf' ? 'anyOf' : key, resolved(value, document)]);
  return Object.fromEntries(entries);
}

/** Sends a request to an operation. Path parameters without a value get a known name, and others are omitted. */
export function ask(
  service: TestService,
  { method, path, parameters }: Described,
  values: Values = {},
  body?: unknown,
): Promise<TestResponse> {
  // A sign-in of a registered integration would call the real provider.
  const integration = path.endsWith('/sign-in') ? { INTEGRATION_NAME: 'unregistered' } : {};
  const all: Values = { ...knownNames, ...integration, ...values };
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(all[name] ?? ''));
  const given = (place: string) =>
    parameters.filter((parameter) => parameter.in === place && values[parameter.name] !== undefined);
  const query = given('query').map(({ name }) => `${name}=${encodeURIComponent(values[name] ?? '')}`);
  const headers = Object.fromEntries(given('header').map(({ name }) => [name, values[name] ?? '']));
  return service.send(method, query.length === 0 ? filled : `${filled}?${query.join('&')}`, body, headers);
}

/** A value that the schema of a field allows. */
export function exampleOf(schema: Schema, field = ''): unknown {
  if (knownFields[field] !== undefined) return knownFields[field];
  const { type, properties = {}, items, anyOf } = schema;
  if (anyOf?.[0] !== undefined) return exampleOf(anyOf[0]);
  if (type === 'object') {
    const known = Object.entries(properties).filter(([name]) => knownFields[name] !== undefined);
    return Object.fromEntries(known.map(([name, each]) => [name, exampleOf(each, name)]));
  }
  if (type === 'array') return items === undefined ? [] : [exampleOf(items)];
  return type === 'number' ? 1 : type === 'boolean' ? true : (schema.enum?.[0] ?? 'text');
}

/** A place for a text in a body, and a function that returns the body with the text. */
export interface TextPlace {
  readonly where: string;
  readonly put: (text: string) => unknown;
}

/** Every place of a body that accepts a text, including keys that the caller may choose. */
export function textPlaces(schema: Schema, where = '', field = ''): TextPlace[] {
  const { type, properties = {}, additionalProperties, items, anyOf = [] } = schema;
  if (type === 'string') return [{ where, put: (text) => text }];
  if (type === 'array' && items !== undefined) {
    return textPlaces(items, `${where}[]`).map((place) => ({ ...place, put: (text) => [place.put(text)] }));
  }
  const named = Object.entries(properties).flatMap(([name, each]) =>
    textPlaces(each, `${where}.${name}`, name).map((place) => ({
      ...place,
      put: (text: string) => ({ ...(exampleOf(schema, field) as object), [name]: place.put(text) }),
    })),
  );
  const chosen =
    typeof additionalProperties === 'object'
      ? [
          { where: `${where} key`, put: (text: string) => ({ [text]: 'value' }) },
          { where: `${where} value`, put: (text: string) => ({ key: text }) },
        ]
      : [];
  return [...named, ...chosen, ...anyOf.flatMap((each) => textPlaces(each, where, field))];
}

/** Checks what holds for every response: it is no internal error, and the envelope has its status. */
export function assertSound({ status, headers, text, json }: TestResponse): void {
  assert.ok(status < 500 || json?.body?.error?.code === 'processor_not_configured', text);
  if (headers.get('content-type') !== 'application/json' || text === '') return;
  // The OAuth response of the token endpoint has no envelope.
  if (typeof json?.error === 'string' || json?.access_token !== undefined) return;
  if (json?.keys !== undefined) return;
  assert.equal(json?.statusCode, status, text.slice(0, 200));
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { count } from '../support/extent.ts';
import {
  ask,
  assertSound,
  type Described,
  describedOperations,
  exampleOf,
  noLimits,
  type Schema,
} from '../support/http/described-requests.ts';
import { seedOf } from '../support/random.ts';
import { startTestService } from '../support/service.ts';

/** The concurrent requests of one example. */
const requestsAtOnce = 10;
const examples = count({ short: 300, long: 10_000 });

interface Request {
  readonly operation: Described;
  readonly values: Readonly<Record<string, string>>;
  readonly body: unknown;
}

test('responds soundly to requests that are generated from the OpenAPI document', async (t) => {
  const seed = seedOf(t);
  const service = await startTestService(t, { env: noLimits });
  const operations = await describedOperations(service);
  const request = fc.constantFrom(...operations).chain(requestOf);
  let served = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(request, { minLength: requestsAtOnce, maxLength: requestsAtOnce }),
      async (sent) => {
        const responses = await Promise.all(
          sent.map(({ operation, values, body }) => ask(service, operation, values, body)),
        );
        for (const response of responses) assertSound(response);
        served += responses.filter(({ status }) => status === 200).length;
      },
    ),
    { seed, numRuns: examples, endOnFailure: true },
  );
  assert.ok(served > examples, `${served} of ${examples * requestsAtOnce} returned 200`);
  assert.equal((await service.get('/readyz')).status, 200);
});

function requestOf(operation: Described): fc.Arbitrary<Request> {
  const { parameters, body } = operation;
  const values = parameters.map(({ in: place, name }) => {
    const text =
      place === 'header' ? headerText : fc.string({ unit: 'binary', minLength: 1 }).filter(isSegment);
    const usual: fc.Arbitrary<string | undefined> = fc.constant(undefined);
    return fc
      .oneof({ weight: 4, arbitrary: usual }, { weight: 1, arbitrary: text })
      .map((value) => [name, value]);
  });
  return fc.record({
    operation: fc.constant(operation),
    values: fc
      .tuple(...values)
      .map(
        (all) => Object.fromEntries(all.filter(([, value]) => value !== undefined)) as Record<string, string>,
      ),
    body: body === undefined ? fc.constant(undefined) : bodyOf(body),
  });
}

const headerText = fc.stringMatching(/^[\x21-\x7e]{1,30}$/);

/** A URL parser removes the segments "." and "..", and a lone surrogate cannot be percent-encoded. */
function isSegment(text: string): boolean {
  return text.isWellFormed() && !/^\.{1,2}$/.test(text);
}

/** Mostly bodies that the schema allows, and some that it does not. */
function bodyOf(schema: Schema): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 3, arbitrary: valueFor(schema) },
    { weight: 2, arbitrary: fc.constant(exampleOf(schema)) },
    { weight: 1, arbitrary: fc.json().filter((text) => !text.includes('__proto__')) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 100 }) },
  );
}

function valueFor(schema: Schema, field = ''): fc.Arbitrary<unknown> {
  const { type, properties = {}, additionalProperties, items, anyOf = [] } = schema;
  const known = exampleOf(schema, field);
  const odd = fc.oneof(fc.constant(null), fc.integer(), fc.string({ unit: 'binary' }), fc.constant([]));
  const right = (() => {
    if (anyOf.length > 0) return fc.oneof(...anyOf.map((each) => valueFor(each, field)));
    if (type === 'array' && items !== undefined) return fc.array(valueFor(items), { maxLength: 5 });
    if (type === 'number') return fc.oneof(fc.integer(), fc.double(), fc.constant(known));
    if (type === 'boolean') return fc.boolean();
    if (type === 'string') return fc.oneof(fc.string({ unit: 'binary' }), fc.constant(known));
    if (typeof additionalProperties === 'object')
      return fc.dictionary(fc.string(), valueFor(additionalProperties));
    const fields = Object.entries(properties).map(([name, each]) => [name, valueFor(each, name)]);
    return fc.record(Object.fromEntries(fields), { requiredKeys: [] });
  })();
  return fc.oneof({ weight: 12, arbitrary: right as fc.Arbitrary<unknown> }, { weight: 1, arbitrary: odd });
}

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { allLeaves } from '../../src/settings/leaves.ts';
import { validatorOfFile } from '../support/settings-schema.ts';

interface Node {
  readonly description?: string;
  readonly not?: object;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly patternProperties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
}

const schema = JSON.parse(readFileSync('counterfoil.schema.json', 'utf8')) as Node;
const isValid = validatorOfFile();

test('the published schema describes every setting, and names its variable', () => {
  for (const { path, env, secret } of allLeaves) {
    const node = path.reduce<Node | undefined>((parent, key) => parent?.properties?.[key], schema);
    const name = path.join('.');
    assert.ok((node?.description?.length ?? 0) > 10, name);
    if (env !== undefined) assert.match(node?.description ?? '', new RegExp(`\\b${env}\\b`), name);
    assert.equal(node?.not !== undefined, secret, name);
  }
  for (const [name, node] of fieldsOf(schema)) assert.ok((node.description?.length ?? 0) > 10, name);
});

test('the published schema accepts what the service accepts, and rejects misspelt settings and secrets', () => {
  const routes = { charge: { unit: 'major', maximum: 10_000 }, tip: { currencies: ['EUR'] } };
  for (const file of [
    {},
    { $schema: './counterfoil.schema.json', port: 1, logLevel: 'warn', tables: { policy: 'declared' } },
    { payments: { routes }, limits: { charges: 0 } },
    { payments: { routes: { a: { on_success: { table: 't', id: 'payment_id', name: 'metadata.x' } } } } },
  ])
    assert.ok(isValid(file), JSON.stringify(isValid.errors));
  for (const file of [
    { prot: 1 },
    { port: 'many' },
    { logLevel: 'loud' },
    { tables: { polcy: 'open' } },
    { stripe: { key: 'sk_test_x' } },
    { payments: { routes: {} } },
    { payments: { routes: { charge: { maximun: 1 } } } },
    { payments: { routes: { charge: { on_success: { table: 't' } } } } },
    [],
  ])
    assert.ok(!isValid(file), JSON.stringify(file));
});

function fieldsOf(node: Node): [name: string, node: Node][] {
  const children = [
    ...Object.entries(node.properties ?? {}).flatMap(([name, child]) => [
      [name, child] as [string, Node],
      ...fieldsOf(child),
    ]),
    ...Object.values(node.patternProperties ?? {}).flatMap(fieldsOf),
  ];
  return node.items === undefined ? children : [...children, ...fieldsOf(node.items)];
}

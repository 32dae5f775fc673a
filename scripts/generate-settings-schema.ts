import { readFileSync, writeFileSync } from 'node:fs';
import { settingsSchema } from '../src/settings/schema.ts';

/**
 * Writes counterfoil.schema.json, by which editors complete and check counterfoil.json; with `--check`, only reports whether
 * the file is out of date. It differs from the schema of the service where that one also describes the environment.
 */
const file = new URL('../counterfoil.schema.json', import.meta.url);

interface Node {
  readonly [keyword: string]: unknown;
  readonly env?: string;
  readonly secret?: boolean;
  readonly description?: string;
  readonly required?: readonly string[];
  readonly anyOf?: readonly Node[];
  readonly items?: Node;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly patternProperties?: Readonly<Record<string, Node>>;
}

const { properties, ...root } = forFile(settingsSchema as unknown as Node);
const document = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'Settings of Counterfoil (counterfoil.json)',
  ...root,
  properties: {
    $schema: { type: 'string', description: 'the schema of this file, for editors' },
    ...properties,
  },
};
const text = `${JSON.stringify(document, null, 2)}\n`;

if (!process.argv.includes('--check')) {
  writeFileSync(file, text);
} else if (readFileSync(file, 'utf8') !== text) {
  process.stderr.write('counterfoil.schema.json does not match the settings; run: npm run generate\n');
  process.exitCode = 1;
}

function forFile(node: Node): Node {
  const { env, secret, isCommand: _, description, required, anyOf, items, ...rest } = node;
  const { properties: fields, patternProperties: patterns, ...keywords } = rest;
  const described = descriptionOf(description, env, secret);
  // The service rejects a secret in the file.
  if (secret) return { ...described, not: {} };
  return {
    ...described,
    ...keywords,
    ...(anyOf === undefined ? {} : { enum: anyOf.map((member) => member.const) }),
    ...(items === undefined ? {} : { items: forFile(items) }),
    ...(fields === undefined ? {} : { properties: eachForFile(fields) }),
    ...(patterns === undefined ? {} : { patternProperties: eachForFile(patterns) }),
    ...requiredOf(required, fields),
  };
}

function eachForFile(nodes: Readonly<Record<string, Node>>): Readonly<Record<string, Node>> {
  return Object.fromEntries(Object.entries(nodes).map(([name, node]) => [name, forFile(node)]));
}

function descriptionOf(description = '', env: string | undefined, secret: boolean | undefined): object {
  if (description === '') return {};
  if (env === undefined) return { description };
  const note = secret ? `A secret: set it as ${env} or ${env}_FILE, not in this file` : `Variable: ${env}`;
  return { description: `${description}. ${note}.` };
}

/** A field with a default may be missing. */
function requiredOf(required: readonly string[] = [], fields: Node['properties'] = {}): object {
  const names = required.filter((name) => fields[name]?.default === undefined);
  return names.length === 0 ? {} : { required: names };
}

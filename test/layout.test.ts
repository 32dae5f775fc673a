import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';

/**
 * Who may import what (ARCHITECTURE.md). A place is a folder of src or a file at its root; what is not listed may
 * be imported by nobody but adapters.ts.
 */
const shared = [
  'errors.ts',
  'limits.ts',
  'envelope.ts',
  'log.ts',
  'metrics.ts',
  'tracing.ts',
  'loopback.ts',
  'web-origin.ts',
  'in-flight.ts',
  'random.ts',
  'duration.ts',
];
const ports = [
  'storage/engine.ts',
  'storage/item-text.ts',
  'processors/processor.ts',
  'identity/provider.ts',
];
const copying = 'storage/copying/';
const domains = ['access/', 'payments/', 'tables/', 'sign-in/'];
const mayImport: Readonly<Record<string, readonly string[]>> = {
  'main.ts': [
    'adapters.ts',
    'http/',
    'settings/',
    'secrets/',
    'domains.ts',
    'ready.ts',
    'repeat.ts',
    'vault.ts',
    'version.ts',
    copying,
    'main-access.ts',
    ...domains,
    ...ports,
    ...shared,
  ],
  'main-access.ts': ['adapters.ts', 'http/', 'settings/', ...domains, ...ports, ...shared],
  'access/': ['access/', ...ports, ...shared],
  'payments/': ['payments/', 'secrets/', ...ports, ...shared],
  'tables/': ['tables/', ...ports, ...shared],
  'sign-in/': ['sign-in/', 'secrets/', 'access/audit.ts', ...ports, ...shared],
  'secrets/': ['secrets/', 'access/audit.ts', ...ports, ...shared],
  'storage/lmdb/': ['storage/lmdb/', 'storage/engine.ts', 'storage/item-text.ts', ...shared],
  'storage/dynamodb/': ['storage/dynamodb/', 'storage/engine.ts', 'storage/item-text.ts', ...shared],
  'storage/copying/': [copying, 'storage/engine.ts', 'storage/item-text.ts', ...shared],
  'storage/': ['storage/engine.ts', 'storage/item-text.ts', ...shared],
  'processors/': ['processors/', ...shared],
  'identity/': ['identity/', ...shared],
  'http/': ['http/', ...domains, ...shared],
  'settings/': ['settings/', ...shared],
  'cli/': [
    'cli/',
    'main.ts',
    'main-access.ts',
    'adapters.ts',
    'books.ts',
    'moving.ts',
    'people.ts',
    'vault.ts',
    'version.ts',
    'settings/',
    'secrets/',
    copying,
    ...domains,
    ...ports,
    ...shared,
  ],
  'moving.ts': ['adapters.ts', 'settings/', 'secrets/', copying, ...ports, ...shared],
  'domains.ts': ['adapters.ts', 'settings/', ...domains, ...ports, ...shared],
  'books.ts': [
    'adapters.ts',
    copying,
    'domains.ts',
    'vault.ts',
    'settings/',
    'secrets/',
    ...domains,
    ...shared,
  ],
  'people.ts': ['adapters.ts', copying, 'settings/', ...domains, ...shared],
  'ready.ts': ['secrets/', ...ports, ...shared],
  'opentelemetry/': ['opentelemetry/', ...shared],
  'prometheus/': ['prometheus/', ...shared],
  'vault.ts': ['adapters.ts', 'settings/', 'secrets/', ...domains, ...ports, ...shared],
  'repeat.ts': shared,
};
/** A vendor's library is named by its adapter alone. */
const vendors: Readonly<Record<string, readonly string[]>> = {
  lmdb: ['storage/lmdb/'],
  '@aws-sdk/client-dynamodb': ['storage/dynamodb/'],
  stripe: ['processors/stripe/'],
  square: ['processors/square/'],
  fastify: ['http/'],
  pino: ['log.ts'],
  'prom-client': ['prometheus/'],
  '@opentelemetry/api': ['opentelemetry/'],
  '@opentelemetry/sdk-trace': ['opentelemetry/'],
  '@opentelemetry/resources': ['opentelemetry/'],
  '@opentelemetry/exporter-trace-otlp-http': ['opentelemetry/'],
  'openid-client': ['identity/'],
  'ipaddr.js': ['identity/', 'http/caller-address.ts'],
  jose: ['identity/', 'sign-in/tokens/'],
};

const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.ts'),
);

test('imports follow the dependency rule', () => {
  const broken = files
    .filter((file) => file !== 'adapters.ts')
    .flatMap((file) =>
      importsOf(file)
        .filter((target) => target.startsWith('.'))
        .map((target) => normalize(join(dirname(file), target)))
        .filter((target) => !isAllowed(file, target))
        .map((target) => `${file} imports ${target}`),
    );
  assert.deepEqual(broken, []);
});

test('a vendor is named by its adapter alone', () => {
  const broken = files
    .filter((file) => file !== 'adapters.ts')
    .flatMap((file) =>
      importsOf(file)
        .filter((target) => vendors[target]?.some((place) => file.startsWith(place)) === false)
        .map((target) => `${file} imports ${target}`),
    );
  assert.deepEqual(broken, []);
});

test('every dependency is used, and every package that is used is a dependency', () => {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<
    'dependencies' | 'peerDependencies',
    object
  >;
  const used = files.flatMap(importsOf).filter((target) => !/^(\.|node:)/.test(target));
  assert.deepEqual([...new Set(used)].sort(), Object.keys({ ...dependencies, ...peerDependencies }).sort());
});

test('no file of the service is long', () => {
  // The list of bounds is as long as there are bounds.
  const told = files.filter((file) => file !== 'limits.ts');
  const long = told.filter((file) => readFileSync(join('src', file), 'utf8').split('\n').length > 270);
  assert.deepEqual(long, []);
});

test('openapi.json is what the routes say', () => {
  execFileSync(process.execPath, ['scripts/generate-openapi.ts', '--check'], { stdio: 'pipe' });
});

function isAllowed(file: string, target: string): boolean {
  const place = Object.keys(mayImport).find((prefix) => file.startsWith(prefix));
  const allowed = place === undefined ? shared : (mayImport[place] ?? []);
  return allowed.some((prefix) => target.startsWith(prefix)) || target === '../package.json';
}

function importsOf(file: string): string[] {
  const text = readFileSync(join('src', file), 'utf8');
  return [...text.matchAll(/\b(?:from |import |import\()'([^']+)'/g)].map((match) => match[1] as string);
}

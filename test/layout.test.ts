import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { test } from 'node:test';

/**
 * The dependency rule (ARCHITECTURE.md): what each folder of src, and each file at its root, may import. Only
 * app/adapters.ts and app/backups/adapters.ts may import what is not listed.
 */
const shared = [
  'errors.ts',
  'defined.ts',
  'envelope.ts',
  'log.ts',
  'telemetry.ts',
  'random.ts',
  'version.ts',
  'addresses.ts',
  'currencies.ts',
  'table-name.ts',
  'time.ts',
  'lifecycle.ts',
  'strict-json.ts',
  'durable-files.ts',
];
const ports = [
  'storage/engine.ts',
  'storage/item-text.ts',
  'storage/records.ts',
  'storage/limits.ts',
  'processors/processor.ts',
  'processors/reports.ts',
  'processors/challenges.ts',
  'identity/provider.ts',
  'identity/limits.ts',
];
const backup = ['backup/target.ts'];
const store = ['storage/engine.ts', 'storage/item-text.ts', 'storage/limits.ts'];
/** What the log of the embedded store may import: not its backup, and not the engine on top. */
const lmdbFiles = [
  'storage/lmdb/log/',
  'storage/lmdb/file/',
  'storage/lmdb/store.ts',
  'storage/lmdb/limits.ts',
];
const copying = 'storage/copying/';
const domains = ['access/', 'audit/', 'payments/', 'tables/', 'sign-in/'];
/** For each file, the longest matching prefix applies. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  'table-name.ts': ['storage/limits.ts'],
  'app/': ['app/', ...backup, 'http/', 'settings/', 'secrets/', copying, ...domains, ...ports, ...shared],
  'audit/': ['audit/', ...ports, ...shared],
  'access/': ['access/', 'audit/audit.ts', ...ports, ...shared],
  'payments/': ['payments/', 'secrets/', ...ports, ...shared],
  'tables/': ['tables/', ...ports, ...shared],
  'sign-in/': ['sign-in/', 'secrets/', 'audit/audit.ts', ...ports, ...shared],
  'secrets/': ['secrets/', 'audit/audit.ts', ...ports, ...shared],
  'storage/lmdb/': ['storage/lmdb/', ...store, ...shared],
  'storage/lmdb/log/': [...lmdbFiles, ...store, ...shared],
  'storage/lmdb/backup/': [
    ...['storage/lmdb/', 'backup/target.ts', 'backup/small-files.ts'],
    ...store,
    ...shared,
  ],
  'backup/': ['backup/', ...shared],
  'storage/dynamodb/': ['storage/dynamodb/', ...store, ...shared],
  'storage/copying/': [copying, ...store, ...shared],
  'storage/': [...store, ...shared],
  'processors/': ['processors/', ...shared],
  'identity/': ['identity/', ...shared],
  'http/server/': ['http/server/', 'http/response/', 'access/', ...shared],
  'http/response/': ['http/server/', 'http/response/', ...ports, ...domains, ...shared],
  'http/routes/': ['http/', ...ports, ...domains, ...shared],
  'http/': ['http/', ...shared],
  'settings/': ['settings/', 'payments/limits.ts', ...shared],
  'cli/': ['cli/', 'app/', ...backup, 'settings/', 'secrets/', copying, ...domains, ...ports, ...shared],
  'cli/tables/': ['cli/', 'app/', '../client/src/index.ts', ...domains, ...ports, ...shared],
  'opentelemetry/': ['opentelemetry/', ...shared],
  'prometheus/': ['prometheus/', ...shared],
};
const adapters: readonly string[] = ['app/adapters.ts', 'app/backups/adapters.ts'];
/** Only its adapter imports a vendor's library. */
const vendors: Readonly<Record<string, readonly string[]>> = {
  lmdb: ['storage/lmdb/'],
  '@aws-sdk/client-dynamodb': ['storage/dynamodb/'],
  '@aws-sdk/client-s3': ['backup/s3-'],
  '@aws-sdk/lib-storage': ['backup/s3-'],
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
  'ipaddr.js': ['identity/', 'http/server/caller-address.ts'],
  jose: ['identity/', 'sign-in/tokens/'],
};

/** What other folders may import of a domain: its face, its types and its limits. */
const faces: Readonly<Record<string, readonly string[]>> = {
  'access/': ['access/permission.ts', 'access/scopes.ts'],
  'access/keys/': ['access/keys/keys.ts', 'access/keys/api-key.ts'],
  'access/limits/': ['access/limits/call-limits.ts', 'access/limits/captcha.ts'],
  'access/console/': [
    'access/console/administrators.ts',
    'access/console/console-sessions.ts',
    'access/console/console-session.ts',
  ],
  'audit/': ['audit/audit.ts', 'audit/audit-page.ts'],
  'sign-in/': ['sign-in/sign-in.ts', 'sign-in/types.ts', 'sign-in/limits.ts'],
  'secrets/': ['secrets/sealer.ts', 'secrets/master-keys.ts', 'secrets/rotation.ts'],
  'payments/': ['payments/payments.ts', 'payments/types.ts', 'payments/limits.ts'],
};

const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.ts'),
);

test('imports follow the dependency rule', () => {
  const broken = files
    .filter((file) => !adapters.includes(file))
    .flatMap((file) =>
      importsOf(file)
        .filter((target) => target.startsWith('.'))
        .map((target) => normalize(join(dirname(file), target)))
        .filter((target) => !isAllowed(file, target))
        .map((target) => `${file} imports ${target}`),
    );
  assert.deepEqual(broken, []);
});

test('other folders import only the face of a domain', () => {
  const broken = files.flatMap((file) =>
    targetsOf(join('src', file))
      .map((target) => target.slice('src/'.length))
      .filter((target) => {
        const domains = Object.keys(faces).filter((prefix) => target.startsWith(prefix));
        const domain = domains.toSorted((one, other) => other.length - one.length)[0];
        return domain !== undefined && !file.startsWith(domain) && !faces[domain]?.includes(target);
      })
      .map((target) => `${file} imports ${target}`),
  );
  assert.deepEqual(broken, []);
});

test("only its adapter imports a vendor's library", () => {
  const broken = files
    .filter((file) => !adapters.includes(file))
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
  const used = files
    .flatMap(importsOf)
    .filter((target) => !/^(\.|node:)/.test(target))
    .map((target) => /^(@[^/]+\/)?[^/]+/.exec(target)?.[0] ?? target);
  assert.deepEqual([...new Set(used)].sort(), Object.keys({ ...dependencies, ...peerDependencies }).sort());
});

test('the client imports only its own files', () => {
  const imported = codeIn('client/src').flatMap(specifiersOf);
  assert.deepEqual(
    imported.filter((target) => !/^\.\/[\w-]+\.ts$/.test(target)),
    [],
  );
});

test('the console imports its own files and its packages, and calls the service through the client', () => {
  const { devDependencies } = JSON.parse(readFileSync('console/package.json', 'utf8')) as {
    readonly devDependencies: object;
  };
  const packages = ['@counterfoil/client', ...Object.keys(devDependencies)];
  const broken = codeIn('console/src').flatMap((file) =>
    specifiersOf(file)
      .filter((target) => {
        if (target.startsWith('.')) return !normalize(join(dirname(file), target)).startsWith('console/src/');
        return !packages.some((name) => target === name || target.startsWith(`${name}/`));
      })
      .map((target) => `${file} imports ${target}`),
  );
  assert.deepEqual(broken, []);
});

/** Words that a reader would have to learn, also as parts of names, each with the usual term (CONTRIBUTING.md). */
const banned: Readonly<Record<string, string>> = {
  'tell|tells|told|telling': 'return, report, log, send, document',
  'refusal|refusals|refuse|refuses': 'rejection, error',
  whoever: 'the plain subject',
  'door|doors': 'app',
  'gate|gates': 'authorizer',
  vault: 'the secrets of the store',
  crew: 'workers',
  'at hand': 'available, cached',
  'driver|drivers|driven': 'owner',
  workplace: 'environment',
};
/** Connections are refused in the words of TCP. */
const usual = /refuses connections/;

test('the code uses the usual terms', () => {
  const found = ['src', 'console/src', 'client/src', 'client/test', 'test', 'bench', 'scripts', 'examples']
    .flatMap(codeIn)
    .flatMap((file) => {
      const lines = readFileSync(file, 'utf8').split('\n');
      return Object.entries(banned).flatMap(([words, instead]) => {
        // In camelCase a word begins with a capital and ends before the next one.
        const capital = words.replace(/(^|\|)./g, (first) => first.toUpperCase());
        const expression = new RegExp(`\\b(${words})(?![a-z])|(?<=[a-z])(${capital})(?![a-z])`);
        const matching = lines.filter((line) => expression.test(line) && !usual.test(line));
        return matching.map((line) => `${file}: ${line.trim()} (say: ${instead})`);
      });
    });
  assert.deepEqual(found, []);
});

function codeIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(tsx?|mjs|sh)$/.test(name) && name !== 'layout.test.ts')
    .map((name) => join(folder, name));
}

const linesMax = 270;
const linesMin = 50;

function linesOf(file: string): number {
  return readFileSync(join('src', file), 'utf8').split('\n').length - 1;
}

test(`no file of the service is longer than ${linesMax} lines`, () => {
  assert.deepEqual(
    files.filter((file) => linesOf(file) >= linesMax),
    [],
  );
});

/** What is imported when it is needed, as commands and adapters are, is no part of its importer. */
test(`a file of ${linesMin} lines or less with one importer belongs to that importer, unless that would be too long`, () => {
  const importers = new Map<string, string[]>(files.map((file) => [file, []]));
  for (const file of files) {
    const text = readFileSync(join('src', file), 'utf8');
    for (const [, target = ''] of text.matchAll(/\b(?:from|import) '(\.[^']+)'/g))
      importers.get(normalize(join(dirname(file), target)))?.push(file);
  }
  const small = [...importers].flatMap(([file, [importer, ...others]]) => {
    if (importer === undefined || others.length > 0 || basename(file) === 'limits.ts') return [];
    const isSmall = linesOf(file) <= linesMin && linesOf(file) + linesOf(importer) < linesMax;
    return isSmall ? [`${file} belongs to ${importer}`] : [];
  });
  assert.deepEqual(small, []);
});

test('no file of the embedded store or of backups is shorter than 50 lines, except the lists of bounds', () => {
  const short = files
    .filter((file) => /^(storage\/lmdb|backup)\//.test(file) && !file.endsWith('/limits.ts'))
    .filter((file) => readFileSync(join('src', file), 'utf8').split('\n').length <= 50);
  assert.deepEqual(short, []);
});

for (const folder of ['src', 'console/src', 'client/src', 'client/test', 'bench', 'test', 'scripts']) {
  test(`no imports of ${folder} form a cycle`, () => {
    const imports = new Map(
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((name) => /\.tsx?$/.test(name))
        .map((name) => join(folder, name))
        .map((file) => [file, targetsOf(file)] as const),
    );
    assert.deepEqual(cyclesOf(imports), []);
  });
}

test('openapi.json matches the routes, and counterfoil.schema.json the settings', () => {
  for (const script of ['scripts/generate-openapi.ts', 'scripts/generate-settings-schema.ts'])
    execFileSync(process.execPath, [script, '--check'], { stdio: 'pipe' });
});

function isAllowed(file: string, target: string): boolean {
  const places = Object.keys(mayImport).filter((prefix) => file.startsWith(prefix));
  const place = places.toSorted((one, other) => other.length - one.length)[0];
  const allowed = place === undefined ? shared : (mayImport[place] ?? []);
  return allowed.some((prefix) => target.startsWith(prefix));
}

function importsOf(file: string): string[] {
  return specifiersOf(join('src', file));
}

function specifiersOf(path: string): string[] {
  const text = readFileSync(path, 'utf8');
  return [...text.matchAll(/\b(?:from |import |import\()'([^']+)'/g)].map((match) => match[1] as string);
}

function targetsOf(path: string): string[] {
  const relative = specifiersOf(path).filter((target) => target.startsWith('.'));
  return relative.map((target) => normalize(join(dirname(path), target)));
}

/** Each cycle once, as the list of its files. */
function cyclesOf(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const cycles = new Set<string>();
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file);
    if (start >= 0) cycles.add(path.slice(start).toSorted().join(' '));
    if (start >= 0 || done.has(file)) return;
    for (const target of imports.get(file) ?? []) visit(target, [...path, file]);
    done.add(file);
  };
  for (const file of imports.keys()) visit(file, []);
  return [...cycles];
}

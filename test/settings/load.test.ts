import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { SettingsError } from '../../src/errors.ts';
import { leaves } from '../../src/settings/leaves.ts';
import { loadSettings } from '../../src/settings/load.ts';

type Env = Record<string, string>;

function load(env: Env = {}, file = '/nonexistent', simulate = false) {
  return loadSettings({ env, file, simulate });
}

function problems(env: Env, file?: string, simulate?: boolean): string {
  try {
    load(env, file, simulate);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems.join('\n');
    throw error;
  }
  return '';
}

function written(t: TestContext, content: unknown): string {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-settings-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'counterfoil.json');
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

test('has a default for every required setting', () => {
  const settings = load();
  assert.equal(settings.host, '127.0.0.1');
  assert.equal(settings.port, 8080);
  assert.equal(settings.data, './data');
  assert.deepEqual(settings.payments.routes, { charge: { unit: 'minor' } });
});

test('does not let one service change the defaults of the next', () => {
  load().tables.aliases.push('changed');
  assert.deepEqual(load().tables.aliases, []);
});

test('the environment takes precedence over the file', (t) => {
  const file = written(t, { port: 1, host: '127.0.0.2', tables: { aliases: ['dynamodb'] } });
  const settings = load({ PORT: '2' }, file);
  assert.equal(settings.port, 2);
  assert.equal(settings.host, '127.0.0.2');
  assert.deepEqual(settings.tables.aliases, ['dynamodb']);
  assert.deepEqual(load({ COUNTERFOIL_TABLE_ALIASES: 'a, b' }, file).tables.aliases, ['a', 'b']);
});

test('reads a value from the file that a variable names, and rejects both at once', (t) => {
  const secret = written(t, 'sk_test_fromfile\n');
  assert.equal(load({ COUNTERFOIL_STRIPE_KEY_FILE: secret }).stripe.key, 'sk_test_fromfile');
  assert.match(
    problems({ COUNTERFOIL_STRIPE_KEY_FILE: secret, COUNTERFOIL_STRIPE_KEY: 'sk_test_x' }),
    /set twice, as COUNTERFOIL_STRIPE_KEY and/,
  );
  assert.match(problems({ COUNTERFOIL_STRIPE_KEY_FILE: '/nonexistent' }), /cannot be read \(ENOENT\)/);
});

test('lists every problem at once, each with the name of its setting', (t) => {
  const file = written(t, { prot: 1, tables: { polcy: 'x' }, payments: { routes: { 'No Good': {} } } });
  const text = problems(
    {
      PORT: 'eighty',
      COUNTERFOIL_TABLES: 'closed',
      COUNTERFOIL_STRIPE_KEY: 'hunter2',
      COUNTERFOIL_BASE_PATH: 'api/',
    },
    file,
  );
  for (const expected of [
    /prot: this setting does not exist/,
    /tables\.polcy: this setting does not exist/,
    /payments\.routes\.No Good/,
    /port \(PORT\)/,
    /tables\.policy \(COUNTERFOIL_TABLES\)/,
    /stripe\.key \(COUNTERFOIL_STRIPE_KEY\)/,
    /basePath \(COUNTERFOIL_BASE_PATH\)/,
  ]) {
    assert.match(text, expected);
  }
  assert.ok(!text.includes('hunter2'), 'a problem contains a secret');
});

test('rejects a table that no path can name at startup', (t) => {
  for (const table of ['.', '..', '', 'a/b', 'x'.repeat(256)]) {
    const routes = { ticket: { on_success: { table, id: 'payment_id', name: 'charge_id' } } };
    assert.match(problems({}, written(t, { payments: { routes } })), /on_success\.table/, table);
    assert.match(problems({}, written(t, { tables: { declared: [table] } })), /tables\.declared/, table);
  }
});

test('rejects contradictory settings', (t) => {
  for (const proxy of ['proxy', '10.0.0.0/33', '::/129', '10.0.0.0/0', '10.0.0.0/8/8', '*']) {
    assert.match(problems({ COUNTERFOIL_TRUSTED_PROXIES: proxy }), /is not an address or a network/, proxy);
  }
  assert.equal(problems({ COUNTERFOIL_TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8, ::1, fd00::/8' }), '');
  for (const origin of ['*', 'null', 'shop.example', 'https://shop.example/', 'http://shop.example']) {
    assert.match(problems({ COUNTERFOIL_CORS_ORIGINS: origin }), /is not an origin/, origin);
  }
  assert.equal(
    problems({ COUNTERFOIL_CORS_ORIGINS: 'https://shop.example:8443, http://localhost:3000' }),
    '',
  );
  assert.match(problems({ COUNTERFOIL_PAYMENT_HOST: '127.0.0.1' }), /needs payments\.port/);
  assert.match(problems({ COUNTERFOIL_TABLE_ALIASES: 'create' }), /already has a meaning/);
  assert.match(problems({ COUNTERFOIL_STRIPE_API_BASE: 'http://api.example.com' }), /must be https/);
  const routes = { charge: { minimum: 10, maximum: 5 } };
  assert.match(problems({}, written(t, { payments: { routes } })), /minimum is above maximum/);
});

test('the public URL is an origin as browsers send it, because it is compared with theirs', () => {
  const problem = (publicUrl: string) => problems({ COUNTERFOIL_PUBLIC_URL: publicUrl });
  for (const url of ['https://Shop.example', 'https://shop.example:443', 'https://shop%2Eexample'])
    assert.match(problem(url), /write it as browsers do, https:\/\/shop\.example$/, url);
  assert.match(problem('https://münchen.example'), /https:\/\/xn--mnchen-3ya\.example$/);
  assert.match(problem('https://user@shop.example'), /write it as browsers do, https:\/\/shop\.example$/);
  assert.match(problem('http://shop.example'), /must be https/);
  assert.match(problem('blob:https://shop.example'), /publicUrl/);
  for (const url of ['https://shop.example', 'https://shop.example:8443', 'http://[::1]:8080'])
    assert.equal(problem(url), '', url);
});

test('rejects simulation next to a live key, and only then', () => {
  assert.match(problems({ COUNTERFOIL_STRIPE_KEY: 'sk_live_abc' }, undefined, true), /live key/);
  assert.match(problems({ COUNTERFOIL_STRIPE_KEY: 'rk_live_abc' }, undefined, true), /live key/);
  assert.equal(problems({ COUNTERFOIL_STRIPE_KEY: 'sk_live_abc' }, undefined, false), '');
  assert.equal(problems({ COUNTERFOIL_STRIPE_KEY: 'sk_test_abc' }, undefined, true), '');
});

test('accepts secrets only from the environment', (t) => {
  const file = written(t, { stripe: { key: 'sk_test_x' } });
  assert.match(problems({}, file), /stripe\.key: is a secret; set it as COUNTERFOIL_STRIPE_KEY/);
});

test('reports what is wrong with a file that is not a JSON object', (t) => {
  for (const content of ['{', '[]', 'null']) {
    assert.match(problems({}, written(t, content)), /must be a JSON object/);
  }
});

test('every setting has one variable and a description', () => {
  assert.equal(new Set(leaves.map(({ env }) => env)).size, leaves.length);
  for (const { env, description } of leaves) assert.ok(description.length > 10, env);
});

test('exits with 2 and every problem on standard error when it is started with wrong settings', async () => {
  const env = { ...process.env, PORT: 'eighty', COUNTERFOIL_STRIPE_KEY: 'sk_live_x', HOST: '0.0.0.0' };
  const { code, stderr, stdout } = await runCounterfoil(['serve', '--simulate'], env);
  assert.equal(code, 2);
  assert.equal(stdout, '');
  assert.match(stderr, /counterfoil: port \(PORT\)/);
  const unknown = await runCounterfoil(['serve', '--fast'], process.env);
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /--fast/);
  assert.equal((await runCounterfoil(['dance'], process.env)).code, 2);
});

function runCounterfoil(args: string[], env: NodeJS.ProcessEnv) {
  return new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    const child = execFile(
      process.execPath,
      ['src/cli/counterfoil.ts', ...args],
      { env },
      (_error, stdout, stderr) => {
        resolve({ code: child.exitCode ?? -1, stdout, stderr });
      },
    );
  });
}

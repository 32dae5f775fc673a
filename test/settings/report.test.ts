import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { allLeaves, type EnvironmentLeaf, leaves } from '../../src/settings/leaves.ts';
import { type ReportedSetting, reportSettings } from '../../src/settings/report.ts';

const canary = 'canary4711canary';
/** A valid value of each setting whose form is checked. */
const valid: Readonly<Record<string, string>> = {
  masterKeys: `${canary}${'A'.repeat(43 - canary.length)}=`,
  'stripe.key': `sk_test_${canary}`,
  'stripe.webhookSecrets': `whsec_${canary}`,
};

function report(env: Record<string, string> = {}, file = ''): ReadonlyMap<string, ReportedSetting> {
  return new Map(reportSettings({ env, file, simulate: false }).map((setting) => [setting.name, setting]));
}

function written(t: TestContext, content: unknown): string {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-report-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'counterfoil.json');
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

test('reports every setting of the schema, with its default', () => {
  const reported = report();
  assert.deepEqual(
    [...reported.keys()],
    allLeaves.map(({ path }) => path.join('.')),
  );
  for (const { path, default: byDefault } of allLeaves) {
    const { value, origin, isSecret } = reported.get(path.join('.')) as ReportedSetting;
    assert.equal(origin, 'default');
    assert.deepEqual(value, isSecret ? undefined : byDefault);
  }
});

test('shows of no secret more than that it is set', (t) => {
  const secrets = leaves.filter(({ secret }) => secret);
  assert.ok(secrets.length >= 6);
  for (const leaf of secrets) {
    const text = valid[leaf.path.join('.')] ?? canary;
    for (const [env, origin] of [
      [{ [leaf.env]: text }, 'environment'],
      [{ [`${leaf.env}_FILE`]: written(t, text) }, 'environment_file'],
    ] as const) {
      const reported = [...report({ ...env, ...neededFor(leaf) }).values()];
      assert.doesNotMatch(JSON.stringify(reported), /canary|4711/);
      const own = reported.find(({ name }) => name === leaf.path.join('.'));
      assert.deepEqual([own?.isSet, own?.isSecret, own?.value, own?.origin], [true, true, undefined, origin]);
    }
  }
});

test('a setting whose name is that of a secret is marked as one', () => {
  for (const { path, secret, isCommand } of allLeaves) {
    const mayBeSecret = /key|secret|token|password|credential/i.test(path.at(-1) ?? '');
    assert.ok(!mayBeSecret || secret || isCommand, path.join('.'));
  }
});

test('masks arguments of a command, and credentials and queries within URLs', () => {
  const reported = report({
    COUNTERFOIL_MASTER_KEY_COMMAND: `keyring read --token=${canary}`,
    COUNTERFOIL_CHALLENGE_URL: `https://verify.example/site?key=${canary}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: `https://user:${canary}@collector.example/v1`,
    COUNTERFOIL_CORS_ORIGINS: 'https://a.example,https://b.example',
    COUNTERFOIL_CHALLENGE_SECRET: 'x',
  });
  assert.doesNotMatch(JSON.stringify([...reported.values()]), /canary/);
  assert.equal(reported.get('masterKeyCommand')?.value, 'keyring …');
  assert.equal(reported.get('challenge.url')?.value, 'https://verify.example/site?…');
  assert.equal(reported.get('traces.endpoint')?.value, 'https://…@collector.example/v1');
  assert.deepEqual(reported.get('corsOrigins')?.value, ['https://a.example', 'https://b.example']);
});

test('reports where each value comes from: a variable before the file before the default', (t) => {
  const file = written(t, { $schema: 'x', port: 1, host: '127.0.0.2', payments: { routes: { tip: {} } } });
  const reported = report(
    { PORT: '2', COUNTERFOIL_DATA_FILE: written(t, '/data\n'), COUNTERFOIL_DOCS: '' },
    file,
  );
  const shown = (name: string) => [reported.get(name)?.value, reported.get(name)?.origin];
  assert.deepEqual(shown('port'), [2, 'environment']);
  assert.deepEqual(shown('host'), ['127.0.0.2', 'file']);
  assert.deepEqual(shown('data'), ['/data', 'environment_file']);
  assert.deepEqual(shown('docs'), ['on', 'default']);
  assert.deepEqual(shown('payments.routes'), [{ tip: { unit: 'minor' } }, 'file']);
});

test('rejects a $schema that is not a string, and does not keep one that is', (t) => {
  assert.throws(() => report({}, written(t, { $schema: 1 })), /\$schema: must be string/);
  assert.ok(!report({}, written(t, { $schema: './x.json' })).has('$schema'));
});

/** The settings that a setting contradicts without. */
function neededFor({ env }: EnvironmentLeaf): Record<string, string> {
  return env === 'COUNTERFOIL_SQUARE_WEBHOOK_KEYS'
    ? { COUNTERFOIL_SQUARE_WEBHOOK_URL: 'https://shop.example/events' }
    : {};
}

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { errorKinds } from '../src/errors.ts';
import { decliningTokens } from '../src/processors/simulated/memory-ledger.ts';
import { leaves } from '../src/settings/leaves.ts';
import { documents, documentText, examplesOf, runExamples, settingsOf } from './support/documents.ts';

const readmeLinesMax = 110;

test('README.md: each command returns the response that is shown', (t) => runExamples(t, 'README.md'));

test('the documents have examples of payments, tables, sign-in and API keys', () => {
  for (const name of [
    'README.md',
    'docs/payments.md',
    'docs/tables.md',
    'docs/sign-in.md',
    'docs/api-keys.md',
  ])
    assert.ok(examplesOf(documentText(name)).length > 0, name);
});

test('docs/tutorial.md shows the settings of the shop', () => {
  const { $schema: _, ...settings } = JSON.parse(readFileSync('examples/shop/counterfoil.json', 'utf8'));
  assert.deepEqual(JSON.parse(settingsOf(documentText('docs/tutorial.md')) ?? ''), settings);
});

test('README.md is short', () => {
  assert.ok(documentText('README.md').split('\n').length - 1 <= readmeLinesMax);
});

test('docs/settings.md names every setting, and docs/payments.md every token of the simulated processor', () => {
  const settings = documentText('docs/settings.md');
  for (const { env, path } of leaves) {
    assert.ok(settings.includes(`\`${env}\``), env);
    assert.ok(settings.includes(`\`${path.join('.')}\``) || isSecret(env), path.join('.'));
  }
  const payments = documentText('docs/payments.md');
  for (const word of decliningTokens) assert.ok(payments.includes(`\`tok_${word}\``), word);
});

test('the documents name only settings that exist', () => {
  // Not a setting of the service: the key with which the command line calls one elsewhere.
  const known = new Set([...leaves.map(({ env }) => env), 'COUNTERFOIL_API_KEY']);
  for (const name of documents) {
    for (const variable of documentText(name).match(/COUNTERFOIL_[A-Z\d_]+/g) ?? [])
      assert.ok(known.has(variable.replace(/_FILE$/, '')), `${name}: ${variable}`);
  }
});

test('docs/errors.md lists every error code, with its status and whether it is retryable', () => {
  const rows = documentText('docs/errors.md').matchAll(
    /^\| `(\w+)` \| (\d{3}) \| (yes|no)\b.* \| .+ \| .+ \|$/gm,
  );
  const listed = Array.from(rows, ([, code, status, retryable]) => [
    code,
    Number(status),
    retryable === 'yes',
  ]);
  const kinds = Object.entries(errorKinds).map(([code, { status, retryable }]) => [code, status, retryable]);
  assert.deepEqual(listed.sort(byCode), kinds.sort(byCode));
});

test('every link between the documents has a target', () => {
  for (const name of documents) {
    for (const [, target = ''] of documentText(name).matchAll(/\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g))
      assert.ok(existsSync(join(dirname(name), target)), `${name}: ${target}`);
  }
});

function isSecret(env: string): boolean {
  return leaves.some((leaf) => leaf.env === env && leaf.secret);
}

function byCode([a]: readonly unknown[], [b]: readonly unknown[]): number {
  return String(a) < String(b) ? -1 : 1;
}

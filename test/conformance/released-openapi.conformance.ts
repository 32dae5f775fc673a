import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { documentFile, readDocument } from '../support/openapi/document.ts';

/**
 * The description of the last release; a release replaces it. Before the first one it is the description that the project
 * would release.
 */
const released = 'test/openapi/released.json';

// biome-ignore lint/suspicious/noExplicitAny: a test changes any part of the document
type Change = (document: any) => void;

const breaking: Readonly<Record<string, Change>> = {
  'an operation is removed': ({ paths }) => delete paths['/v3/users'],
  'a field of a response is removed': ({ components }) => {
    const { Payment } = components.schemas;
    delete Payment.properties.charge_id;
    Payment.required = Payment.required.filter((name: string) => name !== 'charge_id');
  },
  'a field of a request is required': ({ components }) => {
    components.schemas.PaymentRequest.required.push('metadata');
  },
  'a value of a parameter is not accepted any more': ({ components }) => {
    components.schemas.Processor.enum.pop();
  },
  'a field has another type': ({ components }) => {
    components.schemas.Item.properties.name.type = 'integer';
  },
};

const harmless: Readonly<Record<string, Change>> = {
  'a field of a response is added': ({ components }) => {
    components.schemas.Payment.properties.note = { type: 'string' };
  },
  // Clients must expect it: docs/errors.md.
  'an error code is added': ({ components }) => components.schemas.ErrorCode.enum.push('teapot'),
};

test('does not break clients of the last release', async () => {
  const { code, output } = await compare(released, documentFile);
  assert.equal(code, 0, output);
});

for (const [what, change] of Object.entries(breaking)) {
  test(`finds that clients break when ${what}`, async (t) => {
    const { code, output } = await compare(documentFile, changed(t, change));
    assert.equal(code, 1, output);
  });
}

for (const [what, change] of Object.entries(harmless)) {
  test(`finds that no client breaks when ${what}`, async (t) => {
    const { code, output } = await compare(documentFile, changed(t, change));
    assert.equal(code, 0, output);
  });
}

function changed(t: TestContext, change: Change): string {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-openapi-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const document = readDocument();
  change(document);
  const file = join(folder, 'changed.json');
  writeFileSync(file, JSON.stringify(document));
  return file;
}

function compare(
  base: string,
  revision: string,
): Promise<{ readonly code: unknown; readonly output: string }> {
  const { OASDIFF } = process.env;
  assert.ok(OASDIFF, 'this needs oasdiff: scripts/conformance-openapi.sh installs it and sets OASDIFF');
  const args = [
    'breaking',
    base,
    revision,
    '--fail-on',
    'ERR',
    '--severity-levels',
    'test/openapi/oasdiff-levels.txt',
  ];
  return new Promise((resolve) => {
    execFile(OASDIFF, args, { maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : error.code, output: `${stdout}\n${stderr}` }),
    );
  });
}

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { noLimits } from '../support/http/described-requests.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';
import { adminKey } from '../support/service.ts';

/** Promise 14, tested by a program that knows only the service's own description. */
const schemathesis = process.env.SCHEMATHESIS;
/** For each operation; more find rarer inputs, and take as much longer. */
const examples = Number(process.env.EXAMPLES ?? 100);
/** It shares two cores with the other parts: a busy machine is not a failure. */
const msMax = 900_000;
const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_schema_conformance',
];
/** A processor without a key is 503, and `verify` calls an identity provider on the network. */
const parameters = '[parameters]\nprocessor = "simulated"\nverify = "false"\n';
/** Pages for browsers, which need an identity provider; and webhooks, which need a secret. */
const excluded = '/(sign-in|callback)$|/stage/events/';

test('responds to every request of schemathesis as its description says', async (t) => {
  assert.ok(
    schemathesis,
    'this needs schemathesis: scripts/conformance-schemathesis.sh installs it and sets SCHEMATHESIS',
  );
  const data = newData(t);
  const config = join(dirname(data), 'schemathesis.toml');
  writeFileSync(config, parameters);
  const key = await adminKey(data);
  const service = await ServeProcess.start(t, { data, env: noLimits, simulate: true });
  const args = [
    ...['--config-file', config, 'run', '--header', `Authorization: Bearer ${key}`],
    ...[`${await service.ready()}/openapi.json`, '--phases', 'examples,fuzzing', '--no-color'],
    ...['--max-examples', `${examples}`, '--checks', checks.join(), '--exclude-path-regex', excluded],
  ];
  const { stdout } = await promisify(execFile)(schemathesis, args, { timeout: msMax, cwd: tmpdir() }).catch(
    (error) => {
      throw new Error(`${error.stdout}\n${error.stderr}`);
    },
  );
  t.diagnostic(/\d+ generated[^\n]*/.exec(stdout)?.[0] ?? stdout);
});

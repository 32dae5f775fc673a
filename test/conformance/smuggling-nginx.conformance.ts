import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { newKey } from '../support/access/keys.ts';
import { need } from '../support/conformance/needs.ts';
import { payment } from '../support/http/documented-operations.ts';
import { assertError } from '../support/http/error-response.ts';
import { freePort, isListening } from '../support/http/ports.ts';
import { exchange, RawConnection, requestText } from '../support/http/raw-http.ts';
import { ambiguous, unambiguous } from '../support/http/smuggled-requests.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';

/**
 * Promise 15 behind a proxy: nginx rejects payments, and adds the API key to all other requests. It reuses its
 * connections to the service, so that a smuggled request would be executed between the requests of other callers.
 */
const canaryKey = 'smuggled';
const responseMsMax = 2_000;

test('executes only what nginx forwards as a request', async (t) => {
  need('nginx');
  const data = newData(t);
  const key = await newKey(data);
  const authorization = { Authorization: `Bearer ${key}` };
  const env = { COUNTERFOIL_TRUSTED_PROXIES: '127.0.0.1' };
  const service = await ServeProcess.start(t, { data, env, simulate: true });
  const direct = await service.ready();
  const proxied = await startNginx(t, direct, key);

  const rejected = await exchange(proxied, requestText(proxied, `GET ${payment.path}`));
  assert.equal(rejected.status, 403, 'nginx rejects payments');
  const headers = { ...authorization, 'Content-Type': 'application/json', 'Idempotency-Key': canaryKey };
  const request = requestText(direct, `POST ${payment.path}`, headers, JSON.stringify(payment.body));
  const canary = { host: new URL(proxied).host, request };
  for (const { what, bytes } of [...ambiguous(canary), ...unambiguous(canary)]) {
    await t.test(what, async () => {
      const connection = await RawConnection.open(proxied);
      connection.send(Buffer.from(bytes, 'latin1'));
      await Promise.race([connection.response().catch(() => undefined), sleep(responseMsMax)]);
      connection.close();
      for (let n = 0; n < 3; n++) {
        const next = await exchange(proxied, requestText(proxied, 'GET /v3/table/honest/read'));
        assertError(next, { status: 404, code: 'table_not_found' });
      }
    });
  }
  const search = requestText(direct, `GET ${payment.path}?idempotency_key=${canaryKey}`, authorization);
  assertError(await exchange(direct, search), { status: 404, code: 'payment_not_found' });
  assert.equal((await exchange(direct, request)).status, 200, 'sent directly it is a charge');
});

/** @returns its origin */
async function startNginx(t: TestContext, service: string, key: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-nginx-'));
  const port = await freePort();
  writeFileSync(join(folder, 'nginx.conf'), configuration(folder, port, new URL(service).host, key));
  const nginx = spawn('nginx', ['-p', folder, '-c', 'nginx.conf', '-e', 'error.log'], { stdio: 'inherit' });
  const ended = once(nginx, 'exit');
  t.after(async () => {
    nginx.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  const origin = `http://127.0.0.1:${port}`;
  while (nginx.exitCode === null && !(await isListening(origin))) await sleep(20);
  return origin;
}

function configuration(folder: string, port: number, upstream: string, key: string): string {
  return `
daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
events {}
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  upstream service { server ${upstream}; keepalive 1; }
  server {
    listen 127.0.0.1:${port};
    location /stage/ { return 403 '{}'; }
    location / {
      proxy_pass http://service;
      proxy_http_version 1.1;
      proxy_request_buffering off;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header Authorization "Bearer ${key}";
    }
  }
}
`;
}

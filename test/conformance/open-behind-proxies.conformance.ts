import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { need, type Program } from '../support/conformance/needs.ts';
import { create, readPath } from '../support/http/documented-operations.ts';
import { assertError } from '../support/http/error-response.ts';
import { freePort, isListening } from '../support/http/ports.ts';
import { exchange, requestText } from '../support/http/raw-http.ts';
import { startTestService, type TestService } from '../support/service.ts';

/**
 * A service without keys behind proxies that its settings do not name. A stranger sends what they like, also a loopback `Host`. What
 * a proxy marks is rejected; where it leaves no mark, the stranger can use the service, but never make its first key.
 */
interface Proxy {
  readonly program: Program;
  readonly args: (file: string, folder: string) => readonly string[];
  readonly configuration: (
    ports: { readonly own: number; readonly service: number },
    folder: string,
  ) => string;
  /** Whether the service can distinguish its requests from those of a program on this machine. */
  readonly isMarked: boolean;
}

function nginx(directives: string, isMarked: boolean): Proxy {
  return {
    program: 'nginx',
    args: (file, folder) => ['-p', folder, '-c', file, '-e', join(folder, 'error.log')],
    configuration: ({ own, service }, folder) => `
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
  server {
    listen 127.0.0.1:${own};
    location / { ${directives} proxy_pass http://127.0.0.1:${service}; }
  }
}
`,
    isMarked,
  };
}

function haproxy(options: string, isMarked: boolean): Proxy {
  return {
    program: 'haproxy',
    args: (file) => ['-db', '-f', file],
    configuration: ({ own, service }) => `
defaults
  mode http
  timeout connect 5s
  timeout client 5s
  timeout server 5s
  ${options}
frontend public
  bind 127.0.0.1:${own}
  default_backend service
backend service
  server one 127.0.0.1:${service}
`,
    isMarked,
  };
}

const proxies: Readonly<Record<string, Proxy>> = {
  'nginx with HTTP/1.0, the default before 1.29.7': nginx('proxy_http_version 1.0;', true),
  'nginx with X-Real-IP': nginx('proxy_http_version 1.1; proxy_set_header X-Real-IP $remote_addr;', true),
  'nginx with the Host of the site': nginx(
    'proxy_http_version 1.1; proxy_set_header Host shop.example;',
    true,
  ),
  'nginx with HTTP/1.1, the default since 1.29.7': nginx('proxy_http_version 1.1;', false),
  'HAProxy with forwardfor': haproxy('option forwardfor', true),
  'HAProxy alone': haproxy('', false),
  Caddy: {
    program: 'caddy',
    args: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
    configuration: ({ own, service }) => `
{
  admin off
  auto_https off
}
http://:${own} {
  bind 127.0.0.1
  reverse_proxy 127.0.0.1:${service}
}
`,
    isMarked: true,
  },
};

for (const [name, proxy] of Object.entries(proxies)) {
  const may = proxy.isMarked ? 'is not admitted, and changes nothing' : 'is taken for a local program';
  test(`behind ${name}, a stranger ${may}, and makes no key`, async (t) => {
    need(proxy.program);
    const service = await startTestService(t);
    const proxied = await startProxy(t, proxy, service);
    const send = (line: string, body?: object) => {
      const headers = {
        // HAProxy passes it on; the others set their own.
        Host: new URL(service.origin).host,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      };
      return exchange(proxied, requestText(proxied, line, headers, body && JSON.stringify(body)));
    };
    const made = await send(`POST ${create.path}`, create.body);
    const read = await send(`GET ${readPath}`);
    const key = await send('POST /v3/keys', { name: 'stranger', scopes: ['admin'] });
    assert.ok([401, 403].includes(key.status), key.text);
    assert.equal((await service.get('/v3/keys')).text, '{"statusCode":200,"body":[]}');
    if (proxy.isMarked) {
      for (const { status } of [made, read]) assert.ok([401, 403].includes(status), `${status}`);
      assertError(await service.get(readPath), { status: 404, code: 'table_not_found' });
    } else {
      // As docs/api-keys.md says.
      assert.deepEqual([made.status, read.status], [200, 200]);
    }
  });
}

/** @returns its origin */
async function startProxy(t: TestContext, proxy: Proxy, { origin }: TestService): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-proxy-'));
  const own = await freePort();
  const file = join(folder, 'configuration');
  writeFileSync(file, proxy.configuration({ own, service: Number(new URL(origin).port) }, folder));
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const child = spawn(proxy.program, proxy.args(file, folder), { stdio: 'ignore', env });
  const ended = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  const proxied = `http://127.0.0.1:${own}`;
  while (!(await isListening(proxied))) {
    assert.equal(child.exitCode, null, `${proxy.program} does not start`);
    await sleep(20);
  }
  return proxied;
}

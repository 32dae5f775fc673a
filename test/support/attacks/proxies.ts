import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { givenUpMs } from '../busy-machine.ts';
import { freePort, isListening } from '../http/ports.ts';

interface ProxyKind {
  /** @param port of the proxy @param upstream `host:port` of the service */
  readonly configuration: (folder: string, port: number, upstream: string) => string;
  readonly args: readonly string[];
}

/** Proxies with Debian's default configuration, plus the address of the service. */
const kinds = {
  nginx: { configuration: ofNginx, args: ['-p', '.', '-c', 'configuration', '-e', 'error.log'] },
  haproxy: { configuration: ofHaproxy, args: ['-db', '-f', 'configuration'] },
  caddy: {
    configuration: ofCaddy,
    args: ['run', '--config', 'configuration', '--adapter', 'caddyfile'],
  },
} as const satisfies Readonly<Record<string, ProxyKind>>;
export type ProxyName = keyof typeof kinds;
export const proxyNames = Object.keys(kinds) as readonly ProxyName[];

const stopMsMax = 3_000;

/**
 * Starts a proxy in front of a service; stopped after the test.
 *
 * @returns its origin
 */
export async function startProxy(t: TestContext, name: ProxyName, service: string): Promise<string> {
  const { configuration, args } = kinds[name];
  const folder = mkdtempSync(join(tmpdir(), `counterfoil-${name}-`));
  // When root starts nginx, its workers run as another user.
  chmodSync(folder, 0o755);
  const port = await freePort();
  writeFileSync(join(folder, 'configuration'), configuration(folder, port, new URL(service).host));
  const env = { PATH: `${process.env.PATH}:/usr/sbin:/sbin`, HOME: folder };
  const proxy = spawn(name, args, { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] });
  let errors = '';
  proxy.stderr.on('data', (bytes: Buffer) => {
    errors = (errors + bytes).slice(-10_000);
  });
  const ended = once(proxy, 'exit');
  process.once('exit', () => proxy.kill('SIGTERM'));
  const stop = async () => {
    proxy.kill('SIGTERM');
    // A graceful shutdown waits for connections, which are not needed any more.
    const late = setTimeout(() => proxy.kill('SIGKILL'), stopMsMax);
    await ended;
    clearTimeout(late);
    rmSync(folder, { recursive: true, force: true });
  };
  t.after(stop);
  const origin = `http://127.0.0.1:${port}`;
  const giveUpAt = Date.now() + givenUpMs;
  while (!(await isListening(origin))) {
    assert.ok(proxy.exitCode === null && Date.now() < giveUpAt, `${name} does not start: ${errors}`);
    await sleep(20);
  }
  return origin;
}

/** The parts of Debian's nginx.conf that a proxy needs. */
function ofNginx(folder: string, port: number, upstream: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `
daemon off;
worker_processes auto;
pid nginx.pid;
events { worker_connections 768; }
http {
  sendfile on;
  tcp_nopush on;
  access_log off;
  ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  server {
    listen 127.0.0.1:${port};
    client_max_body_size 1m;
    location / {
      proxy_pass http://${upstream};
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    }
  }
}
`;
}

/** The timeouts are those of Debian's haproxy.cfg. */
function ofHaproxy(_folder: string, port: number, upstream: string): string {
  return `
defaults
  mode http
  option forwardfor
  timeout connect 5000
  timeout client 50000
  timeout server 50000
frontend callers
  bind 127.0.0.1:${port}
  default_backend service
backend service
  server service ${upstream}
`;
}

function ofCaddy(folder: string, port: number, upstream: string): string {
  return `
{
  admin off
  auto_https off
  storage file_system ${folder}
}
http://:${port} {
  bind 127.0.0.1
  reverse_proxy ${upstream}
}
`;
}

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../environment.ts';
import { freePort, type Server, startListening } from '../servers.ts';

/** nginx with `sendfile`: the kernel copies the file from the page cache to the socket. */
export async function startNginx(environment: Environment, root: string): Promise<Server> {
  const port = await freePort();
  const file = join(environment.folder, 'nginx.conf');
  writeFileSync(file, configuration(environment.folder, root, port));
  const program = environment.start('nginx', ['-e', 'stderr', '-p', environment.folder, '-c', file]);
  return startListening(program, port);
}

function configuration(folder: string, root: string, port: number): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `daemon off;
${process.getuid?.() === 0 ? 'user root; # its worker could not read the folder otherwise' : ''}
worker_processes 1;
pid ${join(folder, 'nginx.pid')};
error_log stderr warn;
events { worker_connections 64; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  default_type application/json;
  keepalive_requests 1000000;
  ${temporary.map((name) => `${name}_temp_path ${join(folder, 'nginx-temporary')};`).join('\n  ')}
  server {
    listen 127.0.0.1:${port};
    root ${root};
  }
}
`;
}

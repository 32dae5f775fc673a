import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, type Server, startListening } from '../servers.ts';
import type { Workplace } from '../workplace.ts';

/** nginx with `sendfile`: the file goes from the system's memory to the socket and nobody ever sees its bytes. */
export async function startNginx(workplace: Workplace, root: string): Promise<Server> {
  const port = await freePort();
  const file = join(workplace.folder, 'nginx.conf');
  writeFileSync(file, configuration(workplace.folder, root, port));
  const program = workplace.start('nginx', ['-e', 'stderr', '-p', workplace.folder, '-c', file]);
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

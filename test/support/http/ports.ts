import { once } from 'node:events';
import { createServer } from 'node:net';
import { RawConnection } from './raw-http.ts';

/** A port of this machine that no program listens on, at least until it is taken. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { readonly port: number };
  server.close();
  await once(server, 'close');
  return port;
}

export function isListening(origin: string): Promise<boolean> {
  return RawConnection.open(origin).then(
    (connection) => {
      connection.close();
      return true;
    },
    () => false,
  );
}

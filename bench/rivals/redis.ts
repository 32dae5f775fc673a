import { on, once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type Environment, within } from '../environment.ts';
import { itemAt } from '../items.ts';
import { freePort, type Server, startListening } from '../servers.ts';

/** Enough to keep Redis busy while the keys are loaded, and few enough to keep its output buffer small. */
const pieceItems = 10_000;
const fillMsMax = 60_000;

/**
 * Redis behind its HTTP server webdis. Each write is flushed before its response. `SETNX` corresponds to our create,
 * `SET … XX` to our update.
 */
export async function startWebdis(environment: Environment, items: number): Promise<Server> {
  const redisPort = await freePort();
  const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''];
  // A rewrite of the log in the background would slow the side that is measured at that moment.
  const noRewrite = ['--auto-aof-rewrite-percentage', '0'];
  const place = ['--bind', '127.0.0.1', '--port', String(redisPort), '--dir', environment.folder];
  await startListening(environment.start('redis-server', [...place, ...durable, ...noRewrite]), redisPort);
  await within(fillMsMax, fill(redisPort, items));

  const port = await freePort();
  const file = join(environment.folder, 'webdis.json');
  const settings = {
    redis_host: '127.0.0.1',
    redis_port: redisPort,
    http_host: '127.0.0.1',
    http_port: port,
    threads: 2,
    daemonize: false,
    verbosity: 0,
    logfile: join(environment.folder, 'webdis.log'),
  };
  writeFileSync(file, JSON.stringify(settings));
  return startListening(environment.start('webdis', [file]), port);
}

async function fill(port: number, items: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const pieces = on(socket, 'data');
  for (let first = 0; first < items; first += pieceItems) {
    const count = Math.min(pieceItems, items - first);
    const commands = Array.from({ length: count }, (_, index) => {
      const { id, name } = itemAt(first + index);
      return `SET ${id} ${name}\r\n`;
    });
    socket.write(commands.join(''));
    for (let received = 0; received < '+OK\r\n'.length * count; ) {
      const [piece] = (await pieces.next()).value as [Buffer];
      if (piece.includes('-')) throw new Error(`redis-server: ${piece}`);
      received += piece.length;
    }
  }
  socket.destroy();
}

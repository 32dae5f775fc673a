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
  const { port } = await startRedis(environment, environment.folder);
  await sendCommands(port, items, (index) => {
    const { id, name } = itemAt(index);
    return `SET ${id} ${name}`;
  });
  return startWebdisAt(environment, environment.folder, port);
}

/** Redis with its data in the folder. */
export async function startRedis(
  environment: Environment,
  folder: string,
): Promise<Server & { readonly port: number }> {
  const port = await freePort();
  const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''];
  // A rewrite of the log in the background would slow the side that is measured at that moment.
  const noRewrite = ['--auto-aof-rewrite-percentage', '0'];
  const place = ['--bind', '127.0.0.1', '--port', String(port), '--dir', folder];
  const program = environment.start('redis-server', [...place, ...durable, ...noRewrite]);
  return { ...(await startListening(program, port)), port };
}

/** webdis in front of the Redis on the given port. */
export async function startWebdisAt(
  environment: Environment,
  folder: string,
  redisPort: number,
): Promise<Server> {
  const port = await freePort();
  const file = join(folder, 'webdis.json');
  const settings = {
    redis_host: '127.0.0.1',
    redis_port: redisPort,
    http_host: '127.0.0.1',
    http_port: port,
    threads: 2,
    daemonize: false,
    verbosity: 0,
    logfile: join(folder, 'webdis.log'),
  };
  writeFileSync(file, JSON.stringify(settings));
  return startListening(environment.start('webdis', [file]), port);
}

/** Sends one write for each number below the count. Throws when Redis returns an error. */
export function sendCommands(
  port: number,
  count: number,
  commandOf: (index: number) => string,
): Promise<void> {
  return within(fillMsMax, send(port, count, commandOf));
}

async function send(port: number, all: number, commandOf: (index: number) => string): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const pieces = on(socket, 'data');
  for (let first = 0; first < all; first += pieceItems) {
    const count = Math.min(pieceItems, all - first);
    const commands = Array.from({ length: count }, (_, index) => `${commandOf(first + index)}\r\n`);
    socket.write(commands.join(''));
    for (let replies = 0; replies < count; ) {
      const [piece] = (await pieces.next()).value as [Buffer];
      if (piece.includes('-')) throw new Error(`redis-server: ${piece}`);
      replies += piece.toString('latin1').split('\n').length - 1;
    }
  }
  socket.destroy();
}

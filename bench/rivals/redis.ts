import { on, once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { itemAt } from '../items.ts';
import { freePort, type Server, startListening } from '../servers.ts';
import { type Workplace, within } from '../workplace.ts';

/** Enough that Redis is never idle while the keys are brought in, and few enough that its output buffer stays small. */
const pieceItems = 10_000;
const fillMsMax = 60_000;

/**
 * Redis behind its HTTP door webdis, each write flushed before its answer. `SETNX` is our create, `SET … XX` our
 * update.
 */
export async function startWebdis(workplace: Workplace, items: number): Promise<Server> {
  const redisPort = await freePort();
  // Nor is the log rewritten in the background, which would cost Redis, and whoever is measured at that moment.
  const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''];
  const unbothered = ['--auto-aof-rewrite-percentage', '0'];
  const place = ['--bind', '127.0.0.1', '--port', String(redisPort), '--dir', workplace.folder];
  await startListening(workplace.start('redis-server', [...place, ...durable, ...unbothered]), redisPort);
  await within(fillMsMax, fill(redisPort, items));

  const port = await freePort();
  const file = join(workplace.folder, 'webdis.json');
  const settings = {
    redis_host: '127.0.0.1',
    redis_port: redisPort,
    http_host: '127.0.0.1',
    http_port: port,
    threads: 2,
    daemonize: false,
    verbosity: 0,
    logfile: join(workplace.folder, 'webdis.log'),
  };
  writeFileSync(file, JSON.stringify(settings));
  return startListening(workplace.start('webdis', [file]), port);
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
    for (let answered = 0; answered < '+OK\r\n'.length * count; ) {
      const [piece] = (await pieces.next()).value as [Buffer];
      if (piece.includes('-')) throw new Error(`redis-server: ${piece}`);
      answered += piece.length;
    }
  }
  socket.destroy();
}

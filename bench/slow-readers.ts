import { connect, type Socket } from 'node:net';

/** Readers that take a response no faster than a given rate, one after another, as clients on a slow network do. */
export interface SlowReading {
  readonly url: string;
  readonly readers: number;
  /** Of each reader. */
  readonly bytesPerSecond: number;
}

const ticksPerSecond = 10;
const millisecondsPerSecond = 1_000;

/** Reads until the signal. @returns how many bytes all readers have received; throws when a connection fails */
export async function readSlowly(reading: SlowReading, signal: AbortSignal): Promise<number> {
  const received = await Promise.all(
    Array.from({ length: reading.readers }, async () => {
      let bytes = 0;
      while (!signal.aborted) bytes += await readOneSlowly(reading, signal);
      return bytes;
    }),
  );
  return received.reduce((sum, bytes) => sum + bytes, 0);
}

/** One response on a connection of its own, or as much of it as there is before the signal. */
function readOneSlowly({ url, bytesPerSecond }: SlowReading, signal: AbortSignal): Promise<number> {
  const { hostname, port, pathname, host } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(Number(port), hostname);
    let bytes = 0;
    let budget = 0;
    socket.on('data', (piece) => {
      bytes += piece.length;
      budget -= piece.length;
      if (budget <= 0) socket.pause();
    });
    // A piece may exceed what is left for its tick: then the reader pauses for so many ticks.
    const timer = setInterval(() => {
      budget = Math.min(budget, 0) + bytesPerSecond / ticksPerSecond;
      if (budget > 0) socket.resume();
    }, millisecondsPerSecond / ticksPerSecond);
    const stop = () => socket.destroy();
    signal.addEventListener('abort', stop, { once: true });
    socket.once('error', reject);
    socket.once('close', () => {
      clearInterval(timer);
      signal.removeEventListener('abort', stop);
      resolve(bytes);
    });
    socket.write(`GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  });
}

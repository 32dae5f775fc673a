import { connect, type Socket } from 'node:net';

/**
 * Reads a whole table over and over, for `reading.ts`. Its pieces are larger than those of wrk and cost it less, so
 * that the client, which shares the cores with the server, stands in the way as little as it can.
 *
 * Usage: node bench/read-client.ts URL CONNECTIONS SECONDS BODY_BYTES
 *
 * Every connection reads at least once, and begins no new answer after SECONDS. Prints a `ReadingTimes` as JSON; fails
 * when an answer is not 200 or has not the expected length.
 */
export interface ReadingTimes {
  /** One per answer, from the request to the last byte. */
  readonly answerMs: readonly number[];
  /** One per answer, from the request to the first byte of the body. */
  readonly firstByteMs: readonly number[];
}

const pieceBytes = 256 * 1_024;
const chunkedEnd = '0\r\n\r\n';

const [url = '', connections, seconds, bodyBytes] = process.argv.slice(2);
const { hostname, port, pathname, search, host } = new URL(url);
const request = `GET ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
const expectedBytes = Number(bodyBytes);
const deadline = performance.now() + Number(seconds) * 1_000;

const answerMs: number[] = [];
const firstByteMs: number[] = [];
function readRepeatedly(): Promise<void> {
  return new Promise((resolve, reject) => {
    let answer = new Answer();
    const begin = () => {
      answer = new Answer();
      socket.write(request);
    };
    const take = (length: number, buffer: Uint8Array) => {
      try {
        if (!answer.take(buffer.subarray(0, length))) return true;
        answerMs.push(performance.now() - answer.began);
        firstByteMs.push(answer.firstByteAt - answer.began);
        if (performance.now() < deadline) begin();
        else socket.end();
      } catch (error) {
        socket.destroy(error as Error);
      }
      return true;
    };
    const socket: Socket = connect({
      host: hostname,
      port: Number(port),
      // One buffer for all pieces: nothing is left to the garbage collector.
      onread: { buffer: Buffer.allocUnsafe(pieceBytes), callback: take },
    });
    socket.once('connect', begin).once('error', reject);
    socket.once('close', () => {
      if (answer.isWhole) resolve();
      else reject(new Error(`${url}: the connection ended within an answer`));
    });
  });
}

class Answer {
  readonly began = performance.now();
  firstByteAt = 0;
  isWhole = false;
  #head = '';
  #isChunked = false;
  /** Of the body, as it comes: with the lengths of its chunks, where it is chunked. */
  #bytes = 0;
  /** The last bytes, to see where chunks end. */
  #tail = '';

  /** @returns whether the answer is whole now */
  take(piece: Uint8Array): boolean {
    const body = this.#bytes === 0 ? this.#bodyWithin(piece) : piece;
    if (body.length === 0) return false;
    if (this.#bytes === 0) this.firstByteAt = performance.now();
    this.#bytes += body.length;
    if (this.#isChunked) this.#tail = (this.#tail + latin1(body.subarray(-chunkedEnd.length))).slice(-5);
    this.isWhole = this.#isChunked
      ? this.#bytes > expectedBytes && this.#tail === chunkedEnd
      : this.#bytes === expectedBytes;
    if (!this.#isChunked && this.#bytes > expectedBytes) throw new Error(`${url}: more than was expected`);
    return this.isWhole;
  }

  #bodyWithin(piece: Uint8Array): Uint8Array {
    const before = this.#head.length;
    this.#head += latin1(piece);
    const end = this.#head.indexOf('\r\n\r\n');
    if (end === -1) return piece.subarray(piece.length);
    const head = this.#head.slice(0, end).toLowerCase();
    if (!head.startsWith('http/1.1 200')) throw new Error(`${url}: ${head.split('\r\n')[0]}`);
    this.#isChunked = /\r\ntransfer-encoding: *chunked/.test(head);
    const length = /\r\ncontent-length: *(\d+)/.exec(head)?.[1];
    if (!this.#isChunked && Number(length) !== expectedBytes) {
      throw new Error(`${url}: ${length} bytes, not ${expectedBytes}`);
    }
    this.#head = this.#head.slice(0, end + 4);
    return piece.subarray(end + 4 - before);
  }
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

await Promise.all(Array.from({ length: Number(connections) }, readRepeatedly));
process.stdout.write(JSON.stringify({ answerMs, firstByteMs } satisfies ReadingTimes));

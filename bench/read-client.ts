import { connect, type Socket } from 'node:net';

/**
 * Reads a whole table repeatedly, for `reading.ts`. It reads larger pieces than wrk, which cost it less: the client
 * shares the cores with the server and must take little of them.
 *
 * Usage: node bench/read-client.ts URL CONNECTIONS SECONDS BODY_BYTES [POST]
 *
 * Every connection reads at least once, and sends no request after SECONDS; POST is a body to send. Prints a `ReadingTimes` as JSON; fails when
 * a response is not 200 or does not have the expected length.
 */
export interface ReadingTimes {
  /** One per response, from the request to the last byte. */
  readonly responseMs: readonly number[];
  /** One per response, from the request to the first byte of the body. */
  readonly firstByteMs: readonly number[];
}

const pieceBytes = 256 * 1_024;
const chunkedEnd = '0\r\n\r\n';

const [url = '', connections, seconds, bodyBytes, post] = process.argv.slice(2);
const { hostname, port, pathname, search, host } = new URL(url);
const sent =
  post === undefined
    ? ''
    : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(post)}\r\n`;
const request = `${post === undefined ? 'GET' : 'POST'} ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\n${sent}\r\n${post ?? ''}`;
const expectedBytes = Number(bodyBytes);
const deadline = performance.now() + Number(seconds) * 1_000;

const responseMs: number[] = [];
const firstByteMs: number[] = [];
function readRepeatedly(): Promise<void> {
  return new Promise((resolve, reject) => {
    let response = new ResponseReader();
    const begin = () => {
      response = new ResponseReader();
      socket.write(request);
    };
    const take = (length: number, buffer: Uint8Array) => {
      try {
        if (!response.take(buffer.subarray(0, length))) return true;
        responseMs.push(performance.now() - response.began);
        firstByteMs.push(response.firstByteAt - response.began);
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
      // One buffer for all pieces, so that there is nothing to collect.
      onread: { buffer: Buffer.allocUnsafe(pieceBytes), callback: take },
    });
    socket.once('connect', begin).once('error', reject);
    socket.once('close', () => {
      if (response.isWhole) resolve();
      else reject(new Error(`${url}: the connection ended within a response`));
    });
  });
}

class ResponseReader {
  readonly began = performance.now();
  firstByteAt = 0;
  isWhole = false;
  #head = '';
  #isChunked = false;
  /** Bytes of the body as received, including the chunk framing of a chunked body. */
  #bytes = 0;
  /** The last bytes, to recognize the last chunk. */
  #tail = '';

  /** @returns whether the response is complete now */
  take(piece: Uint8Array): boolean {
    const body = this.#bytes === 0 ? this.#bodyWithin(piece) : piece;
    if (body.length === 0) return false;
    if (this.#bytes === 0) this.firstByteAt = performance.now();
    this.#bytes += body.length;
    if (this.#isChunked) this.#tail = (this.#tail + latin1(body.subarray(-chunkedEnd.length))).slice(-5);
    this.isWhole = this.#isChunked
      ? this.#bytes > expectedBytes && this.#tail === chunkedEnd
      : this.#bytes === expectedBytes;
    if (!this.#isChunked && this.#bytes > expectedBytes) throw new Error(`${url}: more bytes than expected`);
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
process.stdout.write(JSON.stringify({ responseMs, firstByteMs } satisfies ReadingTimes));

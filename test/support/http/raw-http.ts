import { connect, type Socket } from 'node:net';
import { givenUpMs } from '../busy-machine.ts';

export interface RawResponse {
  readonly status: number;
  /** By lower-case name; the last value of a repeated header. */
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
  readonly json: any;
}

/** A connection on which a test writes any bytes, and reads complete responses in the order in which they arrive. */
export class RawConnection {
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #ended = false;
  #wake: () => void = () => undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (bytes: Buffer) => {
      this.#received = Buffer.concat([this.#received, bytes]);
      this.#wake();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#ended = true;
      this.#wake();
    });
  }

  /** @param origin `http://host:port`; rejects when the connection fails */
  static async open(origin: string): Promise<RawConnection> {
    const { hostname, port } = new URL(origin);
    const socket = connect(Number(port), hostname.replace(/^\[|\]$/g, ''));
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new RawConnection(socket);
  }

  send(bytes: string | Uint8Array): void {
    this.#socket.write(bytes);
  }

  /**
   * The next complete response, except "100 Continue". Rejects when the connection closes first, or when none comes.
   *
   * @param options.isHead whether it is the response to a HEAD, which has no body
   */
  async response({ isHead = false } = {}): Promise<RawResponse> {
    const headEnd = await this.#until(() => this.#received.indexOf('\r\n\r\n'));
    const [statusLine = '', ...lines] = this.#take(headEnd + 4)
      .toString('latin1')
      .trimEnd()
      .split('\r\n');
    const status = Number(statusLine.split(' ')[1]);
    if (status === 100) return this.response({ isHead });
    const headers = new Map(lines.map(splitHeader));
    const text = isHead ? '' : (await this.#body(headers)).toString();
    return { status, headers, text, json: parsed(text) };
  }

  /** Waits for "100 Continue": the service has read the head of a request with `Expect`. */
  async continued(): Promise<void> {
    const headEnd = await this.#until(() => this.#received.indexOf('\r\n\r\n'));
    const head = this.#take(headEnd + 4).toString('latin1');
    if (!head.startsWith('HTTP/1.1 100 ')) throw new Error(`no 100 Continue, but ${head}`);
  }

  /** Waits until the service closes the connection. @returns whether it has sent nothing more */
  async ends(): Promise<boolean> {
    await this.#until(() => (this.#ended ? 0 : -1), 'the end of the connection');
    return this.#received.length === 0;
  }

  close(): void {
    this.#socket.destroy();
  }

  async #body(headers: ReadonlyMap<string, string>): Promise<Buffer> {
    if (headers.get('transfer-encoding') !== 'chunked') {
      const length = Number(headers.get('content-length'));
      await this.#until(() => (this.#received.length >= length ? 0 : -1));
      return this.#take(length);
    }
    const chunks: Buffer[] = [];
    for (;;) {
      const lineEnd = await this.#until(() => this.#received.indexOf('\r\n'));
      const size = Number.parseInt(this.#take(lineEnd + 2).toString(), 16);
      await this.#until(() => (this.#received.length >= size + 2 ? 0 : -1));
      if (size > 0) chunks.push(this.#take(size));
      this.#take(2);
      if (size === 0) return Buffer.concat(chunks);
    }
  }

  #take(length: number): Buffer {
    const taken = this.#received.subarray(0, length);
    this.#received = this.#received.subarray(length);
    return taken;
  }

  /** @param find returns the position of what is awaited, or -1 until it has arrived */
  async #until(find: () => number, what = 'a response'): Promise<number> {
    const giveUpAt = Date.now() + givenUpMs;
    for (;;) {
      const found = find();
      if (found >= 0) return found;
      if (this.#ended) throw new Error(`the connection ended before ${what}, after "${this.#received}"`);
      if (Date.now() >= giveUpAt) throw new Error(`no ${what} in ${givenUpMs} ms`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, giveUpAt - Date.now());
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }
}

/** Sends the bytes of one request on a new connection and reads the response. */
export async function exchange(origin: string, bytes: string | Uint8Array): Promise<RawResponse> {
  const connection = await RawConnection.open(origin);
  try {
    connection.send(bytes);
    return await connection.response();
  } finally {
    connection.close();
  }
}

/** The text of a request with the Host of the origin, more headers and, if it has a body, its Content-Length. */
export function requestText(
  origin: string,
  line: string,
  headers: Readonly<Record<string, string>> = {},
  body?: string,
): string {
  const all = {
    Host: new URL(origin).host,
    ...headers,
    ...(body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`;
}

function splitHeader(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

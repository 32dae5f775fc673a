import { Agent, type IncomingMessage, request } from 'node:http';

/**
 * The outcome of a request. `lost`: the service may have executed it or not; `text` is the received part of the
 * response.
 * `not sent`: the connection was refused, so that it was certainly not executed.
 */
export type Outcome =
  | { readonly kind: 'responded'; readonly status: number; readonly text: string }
  | { readonly kind: 'lost'; readonly text: string }
  | { readonly kind: 'not sent' };

const silentMsMax = 20_000;

/**
 * A client with one connection, on which it sends one request after the other. It never retries: a request that it
 * reports as lost was sent once. When its connection has ended, it opens a new one.
 */
export class Caller {
  readonly #origin: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(origin: string) {
    this.#origin = origin;
  }

  /** Rejects when the service does not respond: a broken connection is a lost response, but a hang is a failure. */
  send(method: string, path: string, body?: unknown, more: Record<string, string> = {}): Promise<Outcome> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const ofBody: Record<string, string> =
      text === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) };
    const headers = { ...ofBody, ...more };
    return new Promise((resolve, reject) => {
      const sent = request(this.#origin + path, { method, agent: this.#agent, headers }, (response) => {
        void readResponse(response).then(resolve);
      });
      sent.setTimeout(silentMsMax, () => {
        reject(new Error(`${method} ${path}: no response in ${silentMsMax} ms`));
        sent.destroy();
      });
      sent.on('error', ({ code }: NodeJS.ErrnoException) =>
        resolve(code === 'ECONNREFUSED' ? { kind: 'not sent' } : { kind: 'lost', text: '' }),
      );
      sent.end(text);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

async function readResponse(response: IncomingMessage): Promise<Outcome> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response) chunks.push(chunk);
    return {
      kind: 'responded',
      status: response.statusCode as number,
      text: Buffer.concat(chunks).toString(),
    };
  } catch {
    return { kind: 'lost', text: Buffer.concat(chunks).toString() };
  }
}

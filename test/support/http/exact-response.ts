import { request } from 'node:http';

/** An answer to the byte, as it came: `fetch` would undo its coding and keep a HEAD's length to itself. */
export interface ExactAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  readonly bytes: Buffer;
  /** Whether it came to its end, by its length or by its last chunk. */
  readonly isWhole: boolean;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly json: any;
}

/**
 * Sends one request on a connection of its own.
 *
 * @param line method and path, which goes out as it is
 */
export function ask(
  origin: string,
  line: string,
  headers: Readonly<Record<string, string | readonly string[]>> = {},
  body?: string,
): Promise<ExactAnswer> {
  const [method = '', path = ''] = line.split(' ');
  const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) };
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const options = { hostname, port, method, path, agent: false, headers: { ...headers, ...length } };
    const sent = request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      // What was broken off ends with an error too; the close tells of both.
      response.on('error', () => undefined);
      response.on('close', () => {
        const bytes = Buffer.concat(chunks);
        const told = Object.entries(response.headers).map(([name, value]) => [name, String(value)] as const);
        resolve({
          status: response.statusCode as number,
          headers: new Map(told),
          bytes,
          isWhole: response.complete,
          text: bytes.toString(),
          json: parsed(bytes.toString()),
        });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

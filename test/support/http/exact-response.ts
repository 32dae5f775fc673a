import { request } from 'node:http';

/** A response exactly as it was sent: `fetch` would decode it and hide the Content-Length of a HEAD. */
export interface ExactResponse {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  readonly bytes: Buffer;
  /** Whether the response was complete, by its length or by its last chunk. */
  readonly isWhole: boolean;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
  readonly json: any;
}

/**
 * Sends one request on a new connection.
 *
 * @param line method and path, which is sent unchanged
 */
export function ask(
  origin: string,
  line: string,
  headers: Readonly<Record<string, string | readonly string[]>> = {},
  body?: string,
): Promise<ExactResponse> {
  const [method = '', path = ''] = line.split(' ');
  const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) };
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const options = { hostname, port, method, path, agent: false, headers: { ...headers, ...length } };
    const sent = request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      // An aborted response also emits "error"; "close" follows in either case.
      response.on('error', () => undefined);
      response.on('close', () => {
        const bytes = Buffer.concat(chunks);
        const received = Object.entries(response.headers).map(
          ([name, value]) => [name, String(value)] as const,
        );
        resolve({
          status: response.statusCode as number,
          headers: new Map(received),
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

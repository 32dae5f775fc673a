import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename } from 'node:path';

/**
 * The least that an HTTP service on this Node can do: GET returns the bytes of a file, POST parses JSON and sends it
 * back. It has no routes, no checks and no store; everything beyond it is the service's own cost.
 *
 * Usage: node bench/yardstick.ts [BODY_FILE…]   GET /NAME returns the file of that name, every other path the first
 */
const bodies = new Map(process.argv.slice(2).map((file) => [`/${basename(file)}`, readFileSync(file)]));
const [first = Buffer.of()] = bodies.values();

const server = createServer((request, response) => {
  if (request.method === 'GET') send(response, bodies.get(request.url ?? '') ?? first);
  else echo(request, response);
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`Yardstick is ready on http://127.0.0.1:${port}\n`);
});

function echo(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString());
    send(response, Buffer.from(JSON.stringify(value)));
  });
}

function send(response: ServerResponse, bytes: Buffer): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length });
  response.end(bytes);
}

import { Agent, createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json as readJson } from 'node:stream/consumers';

/**
 * A charge without any record: POST parses JSON, forwards it to the processor on a keep-alive connection, and responds
 * with the processor's reply. Usage: node bench/forwarder.ts PROCESSOR
 */
const [processor] = process.argv.slice(2);
if (processor === undefined) throw new Error('usage: forwarder.ts PROCESSOR');
const agent = new Agent({ keepAlive: true });

const server = createServer(async (request, response) => {
  const body = JSON.stringify(await readJson(request));
  const options = { agent, method: 'POST', headers: { 'content-length': Buffer.byteLength(body) } };
  const forwarded = send(`${processor}/charges`, options, async (reply) => {
    const text = JSON.stringify({ statusCode: 200, body: await readJson(reply) });
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    });
    response.end(text);
  });
  forwarded.end(body);
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`Forwarder is ready on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});

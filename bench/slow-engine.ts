import { type AddressInfo, createServer } from 'node:net';

/**
 * A stand-in for a distributed engine: it implements as much of DynamoDB's protocol as a `create` needs, responds to
 * each request after 5 ms with an empty object, and takes almost no CPU time. Prints its endpoint.
 */
const latencyMs = 5;
const response = Buffer.from(
  'HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: 2\r\n\r\n{}',
);

const server = createServer({ noDelay: true }, (socket) => {
  let text = '';
  socket.setEncoding('latin1').on('data', (piece) => {
    text += piece;
    for (let end = endOf(text); end !== undefined && end <= text.length; end = endOf(text)) {
      text = text.slice(end);
      setTimeout(() => socket.writable && socket.write(response), latencyMs);
    }
  });
  socket.on('error', () => undefined);
});

/** The length of the first request in the text, or undefined while its head is incomplete. */
function endOf(text: string): number | undefined {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return undefined;
  const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, head))?.[1] ?? '0';
  return head + 4 + Number(length);
}

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});

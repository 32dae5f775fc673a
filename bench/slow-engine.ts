import { type AddressInfo, createServer } from 'node:net';

/**
 * Stands in for a distributed engine: speaks as much of DynamoDB's protocol as a `create` needs, answers each request
 * after 5 ms with an empty object, and costs next to nothing itself. Prints its endpoint.
 */
const latencyMs = 5;
const answer = Buffer.from(
  'HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: 2\r\n\r\n{}',
);

const server = createServer({ noDelay: true }, (socket) => {
  let text = '';
  socket.setEncoding('latin1').on('data', (piece) => {
    text += piece;
    for (let end = endOf(text); end !== undefined && end <= text.length; end = endOf(text)) {
      text = text.slice(end);
      setTimeout(() => socket.writable && socket.write(answer), latencyMs);
    }
  });
  socket.on('error', () => undefined);
});

/** Where the request ends that the text begins with. */
function endOf(text: string): number | undefined {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return undefined;
  const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, head))?.[1] ?? '0';
  return head + 4 + Number(length);
}

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});

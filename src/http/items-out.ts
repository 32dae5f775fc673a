import type { OutgoingHttpHeaders } from 'node:http';
import { pipeline, Readable, type Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { jsonContentType } from '../envelope.ts';
import { compressedBytesMin, readStallMsMax, readTurnBytes } from '../limits.ts';
import type { Scan, SpaceFacts } from '../tables/tables.ts';
import { sendText } from './answer.ts';
import { compressor, wantedCoding } from './content-coding.ts';

const opening = '{"statusCode":200,"body":[';
const closing = ']}';

/** The items of a table as the answer: a table that is at hand in one piece, a larger one as it is read. */
export function sendItems(request: FastifyRequest, reply: FastifyReply, scan: Scan): FastifyReply {
  const { chunks, textBytes, version } = scan;
  const coding =
    textBytes < compressedBytesMin ? undefined : wantedCoding(request.headers['accept-encoding']);
  reply.header('etag', `"${version}"`);
  if (coding === undefined && Array.isArray(chunks)) return sendText(reply, 200, wholeAnswer(chunks));

  reply.header('content-type', jsonContentType);
  if (textBytes >= compressedBytesMin) reply.header('vary', 'accept-encoding');
  if (coding === undefined) {
    reply.header('content-length', opening.length + textBytes + closing.length);
    return stream(reply, chunks, reply.raw);
  }
  reply.header('content-encoding', coding);
  // The bytes are others than those of the plain answer, and so is what a strong tag stands for.
  reply.header('etag', `"${version}-${coding}"`);
  const compressing = compressor(coding);
  // A failure of either ends both, and with them the connection; there is nobody else to tell.
  pipeline(compressing, reply.raw, () => undefined);
  return stream(reply, chunks, compressing);
}

/** By the chunks, which stay the same as long as the table does. */
const wholeAnswers = new WeakMap<readonly Buffer[], string>();

function wholeAnswer(chunks: readonly Buffer[]): string {
  let text = wholeAnswers.get(chunks);
  if (text === undefined) {
    text = opening + chunks.join('') + closing;
    wholeAnswers.set(chunks, text);
  }
  return text;
}

/** The headers that `sendItems` would send. */
export function sendItemsHead(reply: FastifyReply, { textBytes, version }: SpaceFacts): FastifyReply {
  reply.header('etag', `"${version}"`).header('content-type', jsonContentType);
  if (textBytes >= compressedBytesMin) reply.header('vary', 'accept-encoding');
  // Of a HEAD answer that is a stream Fastify leaves the length as it is.
  return reply.header('content-length', opening.length + textBytes + closing.length).send(Readable.from([]));
}

/** From here on the answer is written past the framework, which would keep chunks for as long as it likes. */
function stream(reply: FastifyReply, chunks: Scan['chunks'], sink: Writable): FastifyReply {
  reply.hijack();
  const { raw } = reply;
  // A reader that stalls keeps its snapshot, and so the pages of the store that it reads.
  raw.setTimeout(readStallMsMax, () => raw.destroy());
  raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders);
  // Whether the store fails or the reader hangs up: the answer must not end as if it were whole.
  pour(chunks, sink).catch(() => raw.destroy());
  return reply;
}

/** Leaving the loop early, for whatever reason, lets go of the snapshot. */
async function pour(chunks: Scan['chunks'], sink: Writable): Promise<void> {
  let written = 0;
  let prefix = opening;
  for await (const chunk of chunks) {
    sink.cork();
    sink.write(prefix);
    const isWritten = write(sink, chunk);
    sink.uncork();
    await isWritten;
    prefix = '';
    written += chunk.length;
    if (written >= readTurnBytes) {
      written = 0;
      // To a reader on this machine all could go out in one turn, and nobody else would be answered meanwhile.
      await setImmediate();
    }
  }
  sink.end(prefix + closing);
}

/** Resolves when the chunk is out of our hands; until then it may not be used for the next one. */
function write(sink: Writable, chunk: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    sink.write(chunk, (error) => (error ? reject(error) : resolve()));
  });
}

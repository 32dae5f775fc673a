import { pipeline, Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { jsonContentType } from '../envelope.ts';
import { compressedBytesMin, readStallMsMax, scanChunkBytes } from '../limits.ts';
import type { Scan, SpaceFacts } from '../tables/tables.ts';
import { sendText } from './answer.ts';
import { type ContentCoding, compressor, wantedCoding } from './content-coding.ts';

const opening = '{"statusCode":200,"body":[';
const closing = ']}';

/** The items of a table as the answer: a table that is at hand in one piece, a larger one as it is read. */
export function sendItems(request: FastifyRequest, reply: FastifyReply, scan: Scan): FastifyReply {
  const { chunks, textBytes, version } = scan;
  const coding =
    textBytes < compressedBytesMin ? undefined : wantedCoding(request.headers['accept-encoding']);
  reply.header('etag', `"${version}"`);
  if (coding === undefined && Array.isArray(chunks))
    return sendText(reply, 200, opening + chunks.join('') + closing);

  reply.header('content-type', jsonContentType);
  if (textBytes >= compressedBytesMin) reply.header('vary', 'accept-encoding');
  // A reader that stalls keeps its snapshot, and so the pages of the store that it reads.
  reply.raw.setTimeout(readStallMsMax, () => reply.raw.destroy());
  const items = new ItemsAnswer(chunks);
  if (coding === undefined) {
    reply.header('content-length', opening.length + textBytes + closing.length);
    return reply.send(items);
  }
  reply.header('content-encoding', coding);
  // The bytes are others than those of the plain answer, and so is what a strong tag stands for.
  reply.header('etag', `"${version}-${coding}"`);
  return reply.send(compressed(items, coding));
}

/** The headers that `sendItems` would send. */
export function sendItemsHead(reply: FastifyReply, { textBytes, version }: SpaceFacts): FastifyReply {
  reply.header('etag', `"${version}"`).header('content-type', jsonContentType);
  if (textBytes >= compressedBytesMin) reply.header('vary', 'accept-encoding');
  // Of a HEAD answer that is a stream Fastify leaves the length as it is.
  return reply.header('content-length', opening.length + textBytes + closing.length).send(Readable.from([]));
}

/** What is compressed ends with the answer, whichever of the two ends first. */
function compressed(items: Readable, coding: ContentCoding): Readable {
  const compressing = compressor(coding);
  // A failure destroys both, and with them the connection; there is nobody else to tell.
  pipeline(items, compressing, () => undefined);
  return compressing;
}

/** The answer as a stream. Ended early, for whatever reason, it lets go of the snapshot; it never ends as if whole. */
class ItemsAnswer extends Readable {
  readonly #chunks: Iterator<Buffer> | AsyncIterator<Buffer>;
  #isOpened = false;

  constructor(chunks: Scan['chunks']) {
    super({ highWaterMark: scanChunkBytes });
    this.#chunks =
      Symbol.asyncIterator in chunks ? chunks[Symbol.asyncIterator]() : chunks[Symbol.iterator]();
  }

  override async _read(): Promise<void> {
    try {
      const { done, value } = await this.#chunks.next();
      if (!this.#isOpened) this.push(opening);
      this.#isOpened = true;
      this.push(done ? closing : value);
      if (done) this.push(null);
    } catch (error) {
      this.destroy(error as Error);
    }
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    void this.#chunks.return?.();
    callback(error);
  }
}

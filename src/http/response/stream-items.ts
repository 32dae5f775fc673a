import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { pipeline, type Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { jsonContentType } from '../../envelope.ts';
import { ServiceError } from '../../errors.ts';
import type { Scan, SpaceFacts } from '../../tables/tables.ts';
import { AddressCounts } from '../server/caller-address.ts';
import { type ContentCoding, compressor, wantedCoding } from './content-negotiation.ts';
import { sendText, whenClosed } from './send.ts';

/** Compressing a smaller response costs more than sending it. */
export const compressedBytesMin = 1024;
/** Concurrent streamed responses: each has a buffer and a snapshot, and the system buffers 2 MB of a stalled one. */
const longResponsesMax = 256;
/** Streamed responses to one address, so that one slow reader leaves room for others. */
export const longResponsesPerAddressMax = longResponsesMax / 4;
/** Bytes that one reader gets in a turn of the event loop: a fraction of a millisecond. */
const readTurnBytes = 512 * 1024;

const opening = '{"statusCode":200,"body":[';
const closing = ']}';

/** The representation of a table for a request; GET, HEAD and 304 share it. */
export interface Representation {
  readonly coding: ContentCoding | undefined;
  /**
   * With an `etag` if the engine has a version of the table. A strong tag stands for exact bytes, so that each coding has
   * another one. Without a version, `read-consistency` describes the response.
   */
  readonly headers: Readonly<Record<string, string>>;
}

export function chooseRepresentation(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { textBytes = Infinity, version }: SpaceFacts,
): Representation {
  const isCompressible = textBytes >= compressedBytesMin;
  const coding = isCompressible ? wantedCoding(headers['accept-encoding']) : undefined;
  // The response may already vary with the origin of the page.
  const vary = isCompressible
    ? { vary: ['accept-encoding', ...[reply.getHeader('vary') ?? []].flat()].join(', ') }
    : {};
  if (version === undefined) return { coding, headers: { ...vary, 'read-consistency': 'pages' } };
  const etag = `"${coding === undefined ? version : `${version}-${coding}`}"`;
  return { coding, headers: { etag, ...vary } };
}

/** Streamed responses of this process: of all callers, and by counted address. */
let longResponses = 0;
const longResponsesByAddress = new AddressCounts();

/**
 * Sends the items of a table. A table in memory is sent in one piece; a larger one is streamed as it is read. Throws
 * `overloaded` while `longResponsesMax` responses are being streamed, or `longResponsesPerAddressMax` to the same address.
 */
export async function sendItems(
  request: FastifyRequest,
  reply: FastifyReply,
  scan: Scan,
): Promise<FastifyReply> {
  const { coding, headers } = chooseRepresentation(request, reply, scan);
  const { chunks, textBytes } = scan;
  if (coding === undefined && Array.isArray(chunks)) {
    return sendText(reply.headers(headers), 200, wholeResponse(chunks));
  }
  const text = new ChunkReader(chunks);
  const ofAddress = longResponsesByAddress.get(request.countedAddress);
  if (longResponses >= longResponsesMax || ofAddress >= longResponsesPerAddressMax) {
    text.release();
    const message = 'Too many large tables are being read; try again shortly.';
    // The connection of a rejected caller closes as well.
    const headers = { connection: 'close' };
    throw new ServiceError('overloaded', { message, retryAfterSeconds: 1, headers });
  }
  // Before the first byte is sent, a failure can still have an error response.
  await text.begin();
  reply.headers({ ...headers, 'content-type': jsonContentType, ...codingHeaders(coding, textBytes) });
  stream(request, reply, text, coding);
  return reply;
}

/** The headers that `sendItems` would send. */
export function sendItemsHead(request: FastifyRequest, reply: FastifyReply, facts: SpaceFacts): FastifyReply {
  const { coding, headers } = chooseRepresentation(request, reply, facts);
  const body = codingHeaders(coding, facts.textBytes);
  reply.headers({ ...headers, 'content-type': jsonContentType, ...body });
  return sendHead(reply, 200);
}

/** A response without a body; Fastify would send `Content-Length: 0`. */
export function sendHead(reply: FastifyReply, status: number): FastifyReply {
  reply.hijack();
  reply.raw.writeHead(status, reply.getHeaders() as OutgoingHttpHeaders).end();
  return reply;
}

function codingHeaders(coding: ContentCoding | undefined, textBytes: number | undefined) {
  if (coding !== undefined) return { 'content-encoding': coding };
  return textBytes === undefined
    ? {}
    : { 'content-length': String(opening.length + textBytes + closing.length) };
}

/** Cached by the chunks, which are the same array until the table changes. */
const wholeResponses = new WeakMap<readonly Buffer[], string>();

function wholeResponse(chunks: readonly Buffer[]): string {
  let text = wholeResponses.get(chunks);
  if (text === undefined) {
    text = opening + chunks.join('') + closing;
    wholeResponses.set(chunks, text);
  }
  return text;
}

/** Writes the response without Fastify, which could buffer chunks for any time. */
function stream(
  request: FastifyRequest,
  reply: FastifyReply,
  text: ChunkReader,
  coding: ContentCoding | undefined,
): void {
  reply.hijack();
  const { raw } = reply;
  const uncount = countLongResponse(request.countedAddress);
  whenClosed(raw, () => {
    uncount();
    text.release();
  });
  if (raw.destroyed) return;
  raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders);
  const sink = coding === undefined ? raw : compressedInto(raw, coding);
  pour(text, sink).catch((error) => {
    // A reader that is cut off, or has disconnected, is no error of the service, whatever the write reports.
    if (!raw.destroyed && !request.raw.socket.destroyed)
      request.server.logBrokenResponse(error, request, reply);
    text.release();
    // The response must not end as if it were complete.
    raw.destroy();
  });
}

/** @returns a function to call once, when the response has been sent */
function countLongResponse(address: string): () => void {
  longResponses++;
  longResponsesByAddress.add(address);
  return () => {
    longResponses--;
    longResponsesByAddress.remove(address);
  };
}

function compressedInto(raw: ServerResponse, coding: ContentCoding): Writable {
  const compressing = compressor(coding);
  // The first compressed byte may take long.
  raw.flushHeaders();
  // When either stream ends early, so does the other; `pour` reports the error.
  pipeline(compressing, raw, () => undefined);
  return compressing;
}

async function pour(text: ChunkReader, sink: Writable): Promise<void> {
  let turnBytes = 0;
  let prefix = opening;
  for (let chunk = text.first; chunk !== undefined; chunk = await text.next()) {
    sink.cork();
    if (prefix !== '') sink.write(prefix);
    const isWritten = write(sink, chunk);
    sink.uncork();
    prefix = '';
    await isWritten;
    turnBytes += chunk.length;
    if (turnBytes >= readTurnBytes) {
      turnBytes = 0;
      // All chunks for a reader on this machine could be sent in one turn of the event loop, while other requests wait.
      await setImmediate();
    }
  }
  sink.end(prefix + closing);
}

/** Resolves when the chunk is written; until then its buffer must not be reused for the next one. */
function write(sink: Writable, chunk: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    sink.write(chunk, (error) => (error ? reject(error) : resolve()));
  });
}

/** Reads chunks one by one. It releases their snapshot at the end, after an error, or by `release()`. */
class ChunkReader {
  readonly #chunks: Iterator<Buffer> | AsyncIterator<Buffer>;
  first: Buffer | undefined;

  constructor(chunks: Scan['chunks']) {
    this.#chunks =
      Symbol.asyncIterator in chunks ? chunks[Symbol.asyncIterator]() : chunks[Symbol.iterator]();
  }

  async begin(): Promise<void> {
    this.first = await this.next();
  }

  async next(): Promise<Buffer | undefined> {
    try {
      const { done, value } = await this.#chunks.next();
      return done ? undefined : value;
    } catch (error) {
      this.release();
      throw error;
    }
  }

  release(): void {
    void this.#chunks.return?.();
  }
}

import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { pipeline, type Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { countedAddress } from '../../access/counted-address.ts';
import { jsonContentType } from '../../envelope.ts';
import { ServiceError } from '../../errors.ts';
import type { Scan, SpaceFacts } from '../../tables/tables.ts';
import {
  compressedBytesMin,
  longResponsesMax,
  longResponsesPerAddressMax,
  readTurnBytes,
} from '../limits.ts';
import { AddressCounts } from '../server/address-counts.ts';
import { type ContentCoding, compressor, wantedCoding } from './content-coding.ts';
import { sendText } from './send.ts';

const opening = '{"statusCode":200,"body":[';
const closing = ']}';

/** How a table is answered to this request; what a GET, a HEAD and a 304 have in common. */
export interface Representation {
  readonly coding: ContentCoding | undefined;
  /**
   * With an `etag` where the engine can tell one: the bytes of a compressed answer are others than those of the plain
   * one, and so is what a strong tag stands for. Where it cannot, `read-consistency` says what the answer is.
   */
  readonly headers: Readonly<Record<string, string>>;
}

export function representationOf(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { textBytes = Infinity, version }: SpaceFacts,
): Representation {
  const isCompressible = textBytes >= compressedBytesMin;
  const coding = isCompressible ? wantedCoding(headers['accept-encoding']) : undefined;
  // It may vary with the origin of the page that asks, too.
  const vary = isCompressible
    ? { vary: ['accept-encoding', ...[reply.getHeader('vary') ?? []].flat()].join(', ') }
    : {};
  if (version === undefined) return { coding, headers: { ...vary, 'read-consistency': 'pages' } };
  const etag = `"${coding === undefined ? version : `${version}-${coding}`}"`;
  return { coding, headers: { etag, ...vary } };
}

/** Answers of this process that are sent as they are read: of all, and by the address that is counted. */
let longAnswers = 0;
const longAnswersOf = new AddressCounts();

/**
 * The items of a table: a table that is at hand in one piece, a larger one as it is read. Refuses with `overloaded` a larger
 * one while `longResponsesMax` are on their way, or `longResponsesPerAddressMax` to the same address.
 */
export async function sendItems(
  request: FastifyRequest,
  reply: FastifyReply,
  scan: Scan,
): Promise<FastifyReply> {
  const { coding, headers } = representationOf(request, reply, scan);
  const { chunks, textBytes } = scan;
  if (coding === undefined && Array.isArray(chunks)) {
    return sendText(reply.headers(headers), 200, wholeAnswer(chunks));
  }
  const text = new ChunkReader(chunks);
  const ofAddress = longAnswersOf.of(countedAddress(request.address));
  if (longAnswers >= longResponsesMax || ofAddress >= longResponsesPerAddressMax) {
    text.leave();
    const message = 'Too many large tables are being read; try again shortly.';
    // Nor may those who come for nothing else stay.
    const headers = { connection: 'close' };
    throw new ServiceError('overloaded', { message, retryAfterSeconds: 1, headers });
  }
  // Until something is sent a failure can be answered as what it is.
  await text.begin();
  reply.headers({ ...headers, 'content-type': jsonContentType, ...codingHeaders(coding, textBytes) });
  stream(request, reply, text, coding);
  return reply;
}

/** The headers that `sendItems` would send. */
export function sendItemsHead(request: FastifyRequest, reply: FastifyReply, facts: SpaceFacts): FastifyReply {
  const { coding, headers } = representationOf(request, reply, facts);
  const body = codingHeaders(coding, facts.textBytes);
  reply.headers({ ...headers, 'content-type': jsonContentType, ...body });
  return sendHead(reply, 200);
}

/** An answer without a body; the framework would say that its length is 0. */
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

/** From here on the answer is written past the framework, which would keep chunks for as long as it likes. */
function stream(
  request: FastifyRequest,
  reply: FastifyReply,
  text: ChunkReader,
  coding: ContentCoding | undefined,
): void {
  reply.hijack();
  const { raw } = reply;
  const leaveCount = countLongAnswer(countedAddress(request.address));
  raw.once('close', () => {
    leaveCount();
    text.leave();
  });
  raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders);
  const sink = coding === undefined ? raw : compressedInto(raw, coding);
  pour(text, sink).catch((error) => {
    if (!raw.destroyed) request.server.tellBrokenAnswer(error, request, reply);
    text.leave();
    // The answer must not end as if it were whole.
    raw.destroy();
  });
}

/** @returns to be called once, when it has been sent */
function countLongAnswer(address: string): () => void {
  longAnswers++;
  longAnswersOf.add(address);
  return () => {
    longAnswers--;
    longAnswersOf.remove(address);
  };
}

function compressedInto(raw: ServerResponse, coding: ContentCoding): Writable {
  const compressing = compressor(coding);
  // The first compressed byte may be long in coming.
  raw.flushHeaders();
  // When either ends early, so does the other; `pour` tells why.
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

/** Reads chunks one by one, and lets go of their snapshot at the end, on a failure, or when it is left. */
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
      this.leave();
      throw error;
    }
  }

  leave(): void {
    void this.#chunks.return?.();
  }
}

import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { publicError } from '../../envelope.ts';
import { ServiceError } from '../../errors.ts';
import { whenClosed } from './send.ts';

/** The longest silence within a response of lines: proxies close a connection after 30 to 60 s of silence. */
const lineBeatMs = 5_000;

export interface Lines {
  /** The lines, each a JSON object. What it throws ends the response with a line of `type` `error`. */
  readonly lines: AsyncIterable<object>;
  /** The line that is sent after `lineBeatMs` of silence, so that no proxy closes the connection. */
  readonly beat: () => object;
  /** Called when the lines have ended, and when the reader has disconnected. */
  readonly gone: () => void;
}

/** Sends lines of JSON (`application/x-ndjson`) as they come. The first bytes leave at once. */
export function sendLines(
  request: FastifyRequest,
  reply: FastifyReply,
  { lines, beat, gone }: Lines,
): FastifyReply {
  reply.hijack();
  const { raw } = reply;
  whenClosed(raw, gone);
  raw.writeHead(200, {
    ...(reply.getHeaders() as OutgoingHttpHeaders),
    'content-type': 'application/x-ndjson',
    // nginx would hold lines back.
    'x-accel-buffering': 'no',
  });
  raw.flushHeaders();
  const write = (line: object) =>
    new Promise<void>((resolve) => raw.write(`${JSON.stringify(line)}\n`, () => resolve()));
  const beats = setInterval(() => {
    // A reader that reads nothing needs no more of them.
    if (raw.writableLength === 0) void write(beat());
  }, lineBeatMs);
  void pour(lines, write)
    .catch((error: unknown) => {
      request.server.logBrokenResponse(error, request, reply);
      const known = error instanceof ServiceError ? error : new ServiceError('internal');
      return write({ type: 'error', error: publicError(known, request.id) });
    })
    .finally(() => {
      clearInterval(beats);
      gone();
      raw.end();
    });
  return reply;
}

async function pour(lines: AsyncIterable<object>, write: (line: object) => Promise<void>): Promise<void> {
  for await (const line of lines) await write(line);
}

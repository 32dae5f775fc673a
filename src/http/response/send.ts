import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { type Envelope, jsonContentType } from '../../envelope.ts';

/** Sends an envelope; the status line carries the same number. */
export function sendEnvelope(reply: FastifyReply, envelope: Envelope<unknown>): FastifyReply {
  return sendText(reply, envelope.statusCode, JSON.stringify(envelope));
}

/** Sends an envelope that is text already. A string is sent in one write with the headers; bytes would need a second write. */
export function sendText(reply: FastifyReply, status: number, text: string): FastifyReply {
  return sendAs(reply.code(status), jsonContentType, text);
}

/** Sends text of any content type. Without a serializer of the reply, Fastify would add a charset to that of JSON, which has none. */
export function sendAs(reply: FastifyReply, contentType: string, text: string): FastifyReply {
  return reply.header('content-type', contentType).serializer(unchanged).send(text);
}

function unchanged(text: unknown): string {
  return text as string;
}

/** Lets another instance of the framework respond. The header that forbids plain http stays. */
export function passTo({ routing }: FastifyInstance, reply: FastifyReply): FastifyReply {
  reply.hijack();
  const { 'strict-transport-security': httpsOnly } = reply.getHeaders();
  if (httpsOnly !== undefined) reply.raw.setHeader('strict-transport-security', httpsOnly);
  routing(reply.request.raw, reply.raw);
  return reply;
}

/**
 * Calls `listener` once when the response is closed: sent as a whole, or cut off. If its connection has closed already, which may
 * happen while a request waits, it calls it at once: the event does not come again.
 */
export function whenClosed(response: ServerResponse, listener: () => void): void {
  if (response.destroyed) listener();
  else response.once('close', listener);
}

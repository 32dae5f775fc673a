import type { FastifyReply } from 'fastify';
import { type Envelope, jsonContentType, success } from '../../envelope.ts';

/** Sends an envelope; the status line carries the same number. */
export function sendEnvelope(reply: FastifyReply, envelope: Envelope<unknown>): FastifyReply {
  return sendText(reply, envelope.statusCode, JSON.stringify(envelope));
}

/** Sends a page of a list. @param next `after` of the next page; undefined on the last one */
export function sendPage(
  reply: FastifyReply,
  items: readonly unknown[],
  next: string | undefined,
): FastifyReply {
  return sendEnvelope(reply, { ...success(items), ...(next !== undefined && { next }) });
}

/** Sends an envelope that is text already. A string is sent in one write with the headers; bytes would need a second write. */
export function sendText(reply: FastifyReply, status: number, text: string): FastifyReply {
  return reply.code(status).header('content-type', jsonContentType).serializer(asItIs).send(text);
}

/** Without a serializer of the reply, Fastify adds a charset to the content type, which JSON does not have. */
function asItIs(text: unknown): string {
  return text as string;
}

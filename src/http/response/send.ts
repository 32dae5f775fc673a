import type { FastifyReply } from 'fastify';
import { type Envelope, jsonContentType } from '../../envelope.ts';

/** Sends an envelope; the status line carries its number. */
export function sendEnvelope(reply: FastifyReply, envelope: Envelope<unknown>): FastifyReply {
  return sendText(reply, envelope.statusCode, JSON.stringify(envelope));
}

/**
 * Sends an envelope that is text already. A string goes out in one write with the headers, bytes in a second one.
 */
export function sendText(reply: FastifyReply, status: number, text: string): FastifyReply {
  return reply.code(status).header('content-type', jsonContentType).serializer(asItIs).send(text);
}

/** Without a serializer of its own Fastify adds a charset to the type, which JSON does not have. */
function asItIs(text: unknown): string {
  return text as string;
}

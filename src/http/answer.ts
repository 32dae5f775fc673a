import type { FastifyReply } from 'fastify';
import { type Envelope, jsonContentType } from '../envelope.ts';

/** Sends an envelope; the status line carries its number. */
export function sendEnvelope(reply: FastifyReply, envelope: Envelope<unknown>): FastifyReply {
  return sendText(reply, envelope.statusCode, JSON.stringify(envelope));
}

/** Sends an envelope that is text already. As bytes, because Fastify would add a charset to a string's type. */
export function sendText(reply: FastifyReply, status: number, text: string): FastifyReply {
  return reply.code(status).header('content-type', jsonContentType).send(Buffer.from(text));
}

import type { FastifyReply } from 'fastify';
import type { StoredResponse } from '../../payments/types.ts';
import { sendText } from '../response/send.ts';

interface PaymentResponse extends StoredResponse {
  readonly paymentId: string;
  readonly replayed: boolean;
  readonly retryAfterSeconds?: number;
}

/** Sends the response to a charge or a refund. @param location the URL of the payment */
export function sendPaymentResponse(
  reply: FastifyReply,
  response: PaymentResponse,
  location: string,
): FastifyReply {
  reply.header('payment-id', response.paymentId).header('location', location);
  if (response.replayed) reply.header('idempotent-replayed', 'true');
  if (response.retryAfterSeconds !== undefined)
    reply.header('retry-after', String(response.retryAfterSeconds));
  return sendText(reply, response.status, response.text);
}

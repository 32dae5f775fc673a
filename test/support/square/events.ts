import { createHmac } from 'node:crypto';
import type { Delivery } from '../../../src/processors/reports.ts';

/** A delivery of an event, signed as https://developer.squareup.com/docs/webhooks/step3validate describes. */
export function signedDelivery(
  event: unknown,
  { key, url }: { readonly key: string; readonly url: string },
): Delivery {
  const body = Buffer.from(typeof event === 'string' ? event : JSON.stringify(event));
  const signature = createHmac('sha256', key).update(url).update(body).digest('base64');
  const headers = { 'content-type': 'application/json', 'x-square-hmacsha256-signature': signature };
  return { headers, body, receivedAt: Date.now() };
}

/** An event around an object: `payment.updated` around `{ payment }`. */
export function squareEvent(type: string, object: Record<string, unknown>): Record<string, unknown> {
  return {
    merchant_id: 'ML8M1AQ1GQG2K',
    type,
    event_id: '13b867cf-db3d-4b1c-90b6-2f32a9d78124',
    created_at: '2026-11-20T10:00:00.250Z',
    data: { type: Object.keys(object)[0], id: 'of-no-use', object },
  };
}

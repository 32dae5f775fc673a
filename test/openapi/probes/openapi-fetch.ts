import createClient from 'openapi-fetch';
import type { components, paths } from './schema.d.ts';

/** Compiled against what openapi-typescript generates. A line after `@ts-expect-error` must not compile. */
const client = createClient<paths>({ baseUrl: 'http://127.0.0.1:8080' });
type Schemas = components['schemas'];

export async function pay(): Promise<string> {
  const { data, error, response } = await client.POST('/stage/payment/{processor}/{route_id}', {
    params: { path: { processor: 'simulated', route_id: 'charge' }, header: { 'idempotency-key': 'cart-1' } },
    body: { amount: 1050, currency: 'EUR', token: 'tok_paid', metadata: { cart: '1' } },
  });
  if (error !== undefined) {
    const { code, decline_code: declineCode = 'none', retryable } = error.body.error;
    if (code === 'card_declined') return `${declineCode} ${error.body.message.message}`;
    // @ts-expect-error There is no such code.
    if (code === 'card_refused') return 'never';
    return `${retryable} ${response.headers.get('location')}`;
  }
  const status: 200 = data.statusCode;
  // @ts-expect-error The body has `message.charge_id`.
  const wrong = data.body.charge_id;
  return `${status} ${data.body.message.charge_id} ${wrong}`;
}

export async function payWrongly(): Promise<void> {
  await client.POST('/stage/payment/{processor}/{route_id}', {
    // @ts-expect-error There is no such processor.
    params: { path: { processor: 'strype', route_id: 'charge' } },
    body: { amount: 1050, currency: 'EUR', token: 'tok_paid' },
  });
  await client.POST('/stage/payment/{processor}/{route_id}', {
    params: { path: { processor: 'stripe', route_id: 'charge' } },
    // @ts-expect-error The amount is a number.
    body: { amount: '10.50', currency: 'EUR', token: 'tok_paid' },
  });
  await client.POST('/stage/payment/{processor}/{route_id}', {
    params: { path: { processor: 'stripe', route_id: 'charge' } },
    // @ts-expect-error The token is missing.
    body: { amount: 1050, currency: 'EUR' },
  });
}

export function describePayment({
  status,
  refunds,
  item,
  decline_code: declineCode,
}: Schemas['Payment']): string {
  if (status === 'succeeded') return refunds.map((refund) => refund.amount.toFixed()).join();
  if (refunds[0]?.status === 'pending' || item?.status === 'awaited') return declineCode ?? 'wait';
  // @ts-expect-error There is no such status.
  if (status === 'sucseeded') return 'never';
  // @ts-expect-error A payment has no such status; a refund has.
  if (status === 'pending') return 'never';
  // @ts-expect-error A refund has no such status.
  if (refunds[0]?.status === 'refunded') return 'never';
  return status;
}

export async function refundAndCancel(): Promise<number> {
  const params = { path: { processor: 'stripe', route_id: 'charge', payment_id: 'pay_1' } } as const;
  const path = '/stage/payment/{processor}/{route_id}/{payment_id}/refund';
  // The body may be absent.
  const { data } = await client.POST(path, { params });
  await client.POST(path, { params, body: { amount: 250 } });
  await client.POST('/stage/payment/{processor}/{route_id}/{payment_id}/cancel', { params });
  return data?.body.amount ?? 0;
}

export async function read(): Promise<string[]> {
  const { data } = await client.GET('/v3/table/{TABLE_NAME}/read', {
    params: { path: { TABLE_NAME: 'books' }, query: { limit: 10, after: 'a' } },
  });
  if (data === undefined) return [];
  // @ts-expect-error It may be one item: `read?id=` returns it.
  const unsure = data.body[0];
  const { body } = data;
  if (Array.isArray(body)) return [body[0]?.name ?? '', ...body.map(({ id }) => id), String(unsure)];
  // @ts-expect-error It is one item here.
  const wrong = body[0];
  return [body.name, String(wrong)];
}

export async function readAll(): Promise<string> {
  const { data } = await client.GET('/v3/table/{TABLE_NAME}/read', {
    params: { path: { TABLE_NAME: 'books' } },
  });
  const { body, next } = data as Schemas['TableItems'];
  return `${body[0]?.name} ${next}`;
}

export async function write(): Promise<void> {
  const params = { path: { TABLE_NAME: 'books' } };
  const item = { id: 'emma', name: 'Jane Austen' };
  await client.POST('/v3/table/{TABLE_NAME}/create', { params, body: item });
  // @ts-expect-error An item has a name.
  await client.POST('/v3/table/{TABLE_NAME}/create', { params, body: { id: 'emma' } });
  await client.PUT('/v3/table/{TABLE_NAME}/update', {
    params: { ...params, header: { 'if-match': '"1"' } },
    body: item,
  });
  await client.POST('/v3/table/{TABLE_NAME}/batch', {
    params,
    body: { writes: [{ create: item }, { update: item }, { delete: { id: 'a' } }] },
  });
  await client.POST('/v3/table/{TABLE_NAME}/batch', {
    params,
    // @ts-expect-error A write is one of create, update and delete.
    body: { writes: [{ create: item, delete: { id: 'a' } }] },
  });
  // @ts-expect-error A write is at least one of create, update and delete.
  await client.POST('/v3/table/{TABLE_NAME}/batch', { params, body: { writes: [{}] } });
}

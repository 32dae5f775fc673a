import * as api from './hey-api/index.ts';

/** Compiled against what @hey-api/openapi-ts generates. A line after `@ts-expect-error` must not compile. */
export async function pay(): Promise<string> {
  const { data, error } = await api.createPayment({
    path: { processor: 'simulated', route_id: 'charge' },
    headers: { 'idempotency-key': 'cart-1' },
    body: { amount: 1050, currency: 'EUR', token: 'tok_paid' },
  });
  if (error !== undefined) {
    const { code, decline_code: declineCode = 'none' } = error.body.error;
    if (code === 'card_declined') return declineCode;
    // @ts-expect-error There is no such code.
    return code === 'card_refused' ? 'never' : error.body.message.message;
  }
  return data.body.message.charge_id;
}

export async function payWrongly(): Promise<void> {
  const body = { amount: 1050, currency: 'EUR', token: 'tok_paid' };
  // @ts-expect-error There is no such processor.
  await api.createPayment({ path: { processor: 'strype', route_id: 'charge' }, body });
  const path = { processor: 'stripe', route_id: 'charge' } as const;
  // @ts-expect-error The amount is a number.
  await api.createPayment({ path, body: { ...body, amount: '10.50' } });
  // @ts-expect-error A charge has a body.
  await api.createPayment({ path });
}

export async function describePayment(): Promise<string> {
  const path = { processor: 'stripe', route_id: 'charge', payment_id: 'pay_1' } as const;
  await api.cancelPayment({ path });
  await api.refundPayment({ path });
  const { data } = await api.getPayment({ path });
  const status: api.PaymentStatus | undefined = data?.body.status;
  if (status === 'succeeded') return data?.body.refunds[0]?.status === 'pending' ? 'wait' : 'done';
  // @ts-expect-error There is no such status.
  return status === 'sucseeded' ? 'never' : 'wait';
}

export async function read(): Promise<string[]> {
  const { data } = await api.readTable({ path: { TABLE_NAME: 'books' }, query: { limit: 10 } });
  const body = data?.body;
  if (Array.isArray(body)) return [body[0]?.name ?? '', ...body.map(({ id }) => id)];
  // @ts-expect-error A limit is a number.
  await api.readTable({ path: { TABLE_NAME: 'books' }, query: { limit: '10' } });
  return [body?.name ?? ''];
}

export async function write(): Promise<void> {
  const path = { TABLE_NAME: 'books' };
  const item: api.Item = { id: 'emma', name: 'Jane Austen' };
  await api.createItem({ path, body: item });
  // @ts-expect-error An item has a name.
  await api.createItem({ path, body: { id: 'emma' } });
  await api.writeBatch({ path, body: { writes: [{ create: item }, { delete: { id: 'a' } }] } });
  // @ts-expect-error A write is at least one of create, update and delete.
  await api.writeBatch({ path, body: { writes: [{}] } });
}

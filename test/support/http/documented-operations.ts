/** An operation with a request body and legacy error fields. */
export interface BodyOperation {
  readonly name: 'create' | 'update' | 'payment' | 'integration';
  readonly method: 'POST' | 'PUT';
  readonly path: string;
  /** A valid body. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The legacy error fields of a response with this message. */
  readonly onFailure: (message: string) => unknown;
}

export const readPath = '/v3/table/books/read';

export const create: BodyOperation = {
  name: 'create',
  method: 'POST',
  path: '/v3/table/books/create',
  body: { id: 'a', name: 'Alpha' },
  onFailure: (message) => ({ msg: message, complete: false }),
};

export const update: BodyOperation = {
  name: 'update',
  method: 'PUT',
  path: '/v3/table/books/update',
  body: { id: 'a', name: 'Beta' },
  onFailure: (message) => ({ message }),
};

export const payment: BodyOperation = {
  name: 'payment',
  method: 'POST',
  path: '/stage/payment/simulated/charge',
  body: { amount: 1050, currency: 'EUR', token: 'tok_paid' },
  onFailure: (message) => ({ message: { message } }),
};

export const integration: BodyOperation = {
  name: 'integration',
  method: 'POST',
  path: '/v3/create/service/auth/google/shop',
  body: { IDP_CLIENT_ID: 'client-1', IDP_CLIENT_SECRET: 'secret-1' },
  onFailure: () => ({ compelete: false }),
};

export const bodyOperations: readonly BodyOperation[] = [create, update, payment, integration];

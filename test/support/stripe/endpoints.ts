import { cancelIntent, makeIntent, makeMethod } from './charging.ts';
import type { StripeLedger } from './ledger.ts';
import { listed, searched } from './lists.ts';
import { makeRefund } from './refunding.ts';
import { failed, given, invalid, outOfOrder, type Reply } from './replies.ts';
import type { Fields, StripeRequest } from './request.ts';

interface Endpoint {
  /** The names of the known parameters, without their part in brackets. */
  readonly parameters: readonly string[];
  readonly respond: (ledger: StripeLedger, fields: Fields, path: string) => Reply | Promise<Reply>;
}

const paging = ['limit', 'starting_after', 'ending_before', 'expand'];
const intent = ['amount', 'currency', 'payment_method', 'allowed_payment_method_types', 'confirm'];
const details = ['description', 'statement_descriptor_suffix', 'receipt_email'];

const endpoints: Readonly<Record<string, Endpoint>> = {
  'POST /v1/payment_methods': { parameters: ['type', 'card', 'metadata'], respond: makeMethod },
  'POST /v1/payment_intents': {
    parameters: [...intent, ...details, 'error_on_requires_action', 'return_url', 'metadata'],
    respond: makeIntent,
  },
  'GET /v1/payment_intents/': {
    parameters: ['expand'],
    respond: (ledger, _fields, path) => {
      const intent = ledger.intents.get(path.split('/').at(-1) ?? '')?.item;
      if (intent !== undefined) return given(intent);
      return failed(404, 'invalid_request_error', { code: 'resource_missing', param: 'intent' });
    },
  },
  'GET /v1/payment_intents': {
    parameters: [...paging, 'created', 'customer'],
    respond: (ledger, fields, path) => listed(ledger, path, ledger.records().intents, fields),
  },
  'GET /v1/payment_intents/search': {
    parameters: ['query', 'limit', 'page', 'expand'],
    respond: (ledger, fields, path) => searched(ledger, path, ledger.intents.values(), fields),
  },
  'GET /v1/charges': {
    parameters: [...paging, 'created', 'customer', 'payment_intent'],
    respond: (ledger, fields, path) => listed(ledger, path, ledger.records().charges, fields),
  },
  'GET /v1/charges/': {
    parameters: ['expand'],
    respond: (ledger, _fields, path) => {
      const charge = ledger.records().charges.find(({ id }) => path.endsWith(`/${id}`));
      if (charge !== undefined) return given(charge);
      return failed(404, 'invalid_request_error', { code: 'resource_missing', param: 'id' });
    },
  },
  'POST /v1/refunds': { parameters: ['charge', 'amount', 'reason', 'metadata'], respond: makeRefund },
  'GET /v1/refunds': {
    parameters: [...paging, 'created', 'charge', 'payment_intent'],
    respond: (ledger, fields, path) => {
      const { charge } = fields;
      const refunds = ledger.refunds.values();
      const wanted = refunds.filter((refund) => charge === undefined || refund.charge === charge);
      return listed(ledger, path, wanted, fields);
    },
  },
};

/** Processes a request that passed the checks of key and format. */
export async function replyTo(ledger: StripeLedger, request: StripeRequest): Promise<Reply> {
  const { method, path, fields } = request;
  if (method === 'GET' && ledger.switches.rejectsReads) return outOfOrder();
  const canceled = /^\/v1\/payment_intents\/(pi_[0-9a-z]+)\/cancel$/.exec(path)?.[1];
  if (method === 'POST' && canceled !== undefined) return cancelIntent(ledger, canceled);
  const endpoint = endpoints[`${method} ${path}`] ?? endpoints[`${method} ${path.replace(/[^/]+$/, '')}`];
  if (endpoint === undefined) {
    const message = `Unrecognized request URL (${method}: ${path})`;
    return { ...failed(404, 'invalid_request_error', { message }), isUnprocessed: true };
  }
  const names = Object.keys(fields);
  const unknown = names.find((name) => !endpoint.parameters.includes(name.replace(/\[.*/, '')));
  if (unknown !== undefined) return invalid({ code: 'parameter_unknown', param: unknown });
  return endpoint.respond(ledger, fields, path);
}

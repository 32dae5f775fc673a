import { cancelIntent, makeIntent, makeMethod } from './charging.ts';
import type { StripeLedger } from './ledger.ts';
import type { Metadata } from './objects.ts';
import { makeRefund } from './refunding.ts';
import { failed, given, impossible, invalid, outOfOrder, type Reply } from './replies.ts';
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

const pageItemsByDefault = 10;
const pageItemsMost = 100;

interface Listed {
  readonly id: string;
  readonly created: number;
}

/** A list as https://docs.stripe.com/api/pagination describes it: newest first, and always up to date. */
function listed(ledger: StripeLedger, url: string, items: readonly Listed[], fields: Fields): Reply {
  const limit = Number(fields.limit ?? pageItemsByDefault);
  if (!Number.isInteger(limit) || limit < 1 || limit > pageItemsMost) return invalid({ param: 'limit' });
  const after = fields.starting_after;
  if (after !== undefined && ledger.switches.failsLaterPages) return outOfOrder();
  const wanted = items.filter(({ created }) => isWithin(created, fields)).reverse();
  const start = after === undefined ? 0 : wanted.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && start === 0)
    return invalid({ code: 'resource_missing', param: 'starting_after' });
  const data = wanted.slice(start, start + limit);
  return given({ object: 'list', url, has_more: start + limit < wanted.length, data });
}

function isWithin(created: number, fields: Fields): boolean {
  const bound = (name: string, otherwise: number) => Number(fields[`created[${name}]`] ?? otherwise);
  return (
    created >= bound('gte', -Infinity) &&
    created > bound('gt', -Infinity) &&
    created <= bound('lte', Infinity) &&
    created < bound('lt', Infinity)
  );
}

/**
 * The search by one metadata field. It does not see the changes within its lag
 * (https://docs.stripe.com/search#data-freshness), and some accounts have no search.
 */
function searched(
  ledger: StripeLedger,
  url: string,
  entries: readonly {
    readonly item: Listed & { readonly metadata: Metadata };
    readonly changedAt: number;
  }[],
  fields: Fields,
): Reply {
  if (ledger.switches.rejectsSearch) {
    return impossible({ message: 'Search is not available for this account.' });
  }
  const [, key, value] = /^metadata\['([^']+)'\]:'([^']+)'$/.exec(fields.query ?? '') ?? [];
  if (key === undefined) return invalid({ param: 'query' });
  const limit = Number(fields.limit ?? pageItemsByDefault);
  if (!Number.isInteger(limit) || limit < 1 || limit > pageItemsMost) return invalid({ param: 'limit' });
  const knownUntil = ledger.now() - ledger.switches.searchLagMs;
  const found = entries
    .filter(({ item, changedAt }) => changedAt <= knownUntil && item.metadata[key] === value)
    .map(({ item }) => item)
    .reverse();
  const has_more = found.length > limit;
  const next_page = has_more ? 'page_2' : null;
  return given({ object: 'search_result', url, has_more, next_page, data: found.slice(0, limit) });
}

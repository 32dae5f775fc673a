import type { StripeLedger } from './ledger.ts';
import type { Metadata } from './objects.ts';
import { given, impossible, invalid, outOfOrder, type Reply } from './replies.ts';
import type { Fields } from './request.ts';

const pageItemsByDefault = 10;
const pageItemsMost = 100;

interface Listed {
  readonly id: string;
  readonly created: number;
}

/** A list as https://docs.stripe.com/api/pagination describes it: newest first, and always up to date. */
export function listed(ledger: StripeLedger, url: string, items: readonly Listed[], fields: Fields): Reply {
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
export function searched(
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

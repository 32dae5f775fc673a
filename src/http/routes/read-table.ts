import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { success } from '../../envelope.ts';
import { ServiceError } from '../../errors.ts';
import { pageItemsMax } from '../../tables/limits.ts';
import { checkPage, type Tables } from '../../tables/tables.ts';
import { isUnchanged } from '../response/conditional-requests.ts';
import { named } from '../response/described.ts';
import {
  closed,
  envelopeSchema,
  type Headers,
  numberInQuery,
  pageSchema,
  statusOk,
} from '../response/schemas.ts';
import { sendEnvelope, sendText } from '../response/send.ts';
import { representationOf, sendHead, sendItems, sendItemsHead } from '../response/stream-items.ts';
import { item } from './item-schema.ts';

export const readQuery = Type.Object(
  {
    id: Type.Optional(Type.String({ description: 'Only this item' })),
    limit: numberInQuery('Only a page, with this maximum number of items', {
      minimum: 1,
      maximum: pageItemsMax,
    }),
    after: Type.Optional(Type.String({ description: 'Start after this id: `next` of the previous page' })),
  },
  closed,
);

export const readRequestHeaders = Type.Object({
  'if-none-match': Type.Optional(
    Type.String({ description: 'Respond with 304 if the table, or the item, still has this ETag' }),
  ),
});
const readHeaders: Headers = {
  ETag: Type.String({ description: 'Of the whole table, or of the item with `id`; pages have none' }),
};
/** The responses of `readTable`: `body` is a list, or with `id` one item. */
export const readResponses = {
  200: envelopeSchema(
    Type.Union([
      named('TableItems', pageSchema(item)),
      named('TableItem', Type.Object({ statusCode: statusOk, body: item }, closed)),
    ]),
    'All items, ordered by id; a page of them, with `next` if there are more; or the item with `id`',
    {
      ...readHeaders,
      'Read-Consistency': Type.Unsafe({
        type: 'string',
        const: 'pages',
        description: 'Present if each page is of another moment, as the engine has no snapshots',
      }),
    },
  ),
  304: Type.Null({ description: '`If-None-Match` has the ETag: nothing has changed', headers: readHeaders }),
};

type ReadRequest = FastifyRequest<{
  Params: { TABLE_NAME: string };
  Querystring: Static<typeof readQuery>;
}>;

export async function read(tables: Tables, request: ReadRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { TABLE_NAME: table } = request.params;
  const { id, limit, after } = request.query;
  if (id !== undefined) return readItem(tables, request, reply, id);

  const isPage = limit !== undefined || after !== undefined;
  const itemsMax = limit === undefined ? pageItemsMax : wholeNumber(limit);
  if (isPage) checkPage(itemsMax, after);

  const isHead = request.method === 'HEAD';
  const noneMatch = request.headers['if-none-match'];
  if (noneMatch !== undefined || isHead) {
    const facts = await tables.describe(table);
    const { headers } = representationOf(request, reply, facts);
    if (facts.version !== undefined && isUnchanged(noneMatch, facts.version))
      return sendHead(reply.headers(headers), 304);
    if (isHead && !isPage) return sendItemsHead(request, reply, facts);
  }
  if (!isPage) return sendItems(request, reply, await tables.read(table));

  const page = await tables.page(table, itemsMax, after);
  if (tables.reads === 'pages') reply.header('read-consistency', 'pages');
  const envelope = { ...success(page.items), ...(page.next === undefined ? {} : { next: page.next }) };
  return sendEnvelope(reply, envelope);
}

async function readItem(
  tables: Tables,
  { params, query, headers }: ReadRequest,
  reply: FastifyReply,
  id: string,
): Promise<FastifyReply> {
  if (query.limit !== undefined || query.after !== undefined) {
    throw new ServiceError('invalid_request', {
      param: 'id',
      message: 'id cannot be combined with limit or after.',
    });
  }
  const { text, tag } = await tables.find(params.TABLE_NAME, id);
  reply.header('etag', `"${tag}"`);
  if (isUnchanged(headers['if-none-match'], tag)) return sendHead(reply, 304);
  return sendText(reply, 200, `{"statusCode":200,"body":${text}}`);
}

/** NaN if the text is not a whole number: the tables domain checks the limits. */
function wholeNumber(text: string): number {
  return /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
}

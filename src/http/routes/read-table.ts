import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { success } from '../../envelope.ts';
import { invalidRequest } from '../../errors.ts';
import { checkPage, pageItemsMax } from '../../tables/page.ts';
import type { Tables } from '../../tables/tables.ts';
import { isUnchanged } from '../response/conditional-requests.ts';
import { documentedAs, named } from '../response/described.ts';
import { numberInQuery, pageSchema, sendPage, wholeNumber } from '../response/pagination.ts';
import { envelopeSchema, type Headers, statusOk, strictObject } from '../response/schemas.ts';
import { sendEnvelope, sendText } from '../response/send.ts';
import { chooseRepresentation, sendHead, sendItems, sendItemsHead } from '../response/stream-items.ts';
import { item } from './table-schemas.ts';

const documentedQuery = strictObject({
  id: Type.Optional(Type.String({ description: 'Only this item' })),
  prefix: Type.Optional(
    Type.String({ description: 'Only a page of the items whose ids begin with this text' }),
  ),
  limit: numberInQuery('Only a page, with this maximum number of items', {
    minimum: 1,
    maximum: pageItemsMax,
  }),
  after: Type.Optional(Type.String({ description: 'Start after this id: `next` of the previous page' })),
});

/** The OpenAPI document leaves out `count`: a third kind of response would break the types of clients of the last release. */
export const readQuery = documentedAs(
  strictObject({ ...documentedQuery.properties, count: Type.Optional(Type.String()) }),
  documentedQuery,
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
  response: envelopeSchema(
    Type.Union([
      named('TableItems', pageSchema(item)),
      named('TableItem', strictObject({ statusCode: statusOk, body: item })),
    ]),
    'All items, ordered by id; a page of them, with `next` if there are more; or the item with `id`. With `?count=true`, which this document leaves out, `body` is `{"count": N}`',
    {
      ...readHeaders,
      'Read-Consistency': Type.Unsafe({
        type: 'string',
        const: 'pages',
        description: 'Present if each page is of another moment, as the engine has no snapshots',
      }),
    },
  ),
  otherResponses: {
    304: Type.Null({
      description: '`If-None-Match` has the ETag: nothing has changed',
      headers: readHeaders,
    }),
  },
};

type ReadRequest = FastifyRequest<{
  Params: { TABLE_NAME: string };
  Querystring: Static<typeof readQuery>;
}>;

export async function read(tables: Tables, request: ReadRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { TABLE_NAME: table } = request.params;
  const { id, limit, after, prefix, count } = request.query;
  if (count !== undefined) return readCount(tables, request, reply);
  if (id !== undefined) return readItem(tables, request, reply, id);

  const isPage = limit !== undefined || after !== undefined || prefix !== undefined;
  const itemsMax = limit === undefined ? pageItemsMax : wholeNumber(limit);
  if (isPage) checkPage(itemsMax, { after, prefix });

  const isHead = request.method === 'HEAD';
  const noneMatch = request.headers['if-none-match'];
  if (noneMatch !== undefined || isHead) {
    const facts = await tables.describe(table);
    const { headers } = chooseRepresentation(request, reply, facts);
    if (facts.version !== undefined && isUnchanged(noneMatch, facts.version))
      return sendHead(reply.headers(headers), 304);
    if (isHead && !isPage) return sendItemsHead(request, reply, facts);
  }
  if (!isPage) return sendItems(request, reply, await tables.read(table));

  const turn = () => request.server.queue.turn(request.countedAddress);
  const page = await tables.page(table, itemsMax, { after, prefix }, turn);
  if (tables.reads === 'pages') reply.header('read-consistency', 'pages');
  return sendPage(reply, page.items, page.next);
}

async function readItem(
  tables: Tables,
  { params, query, headers }: ReadRequest,
  reply: FastifyReply,
  id: string,
): Promise<FastifyReply> {
  checkAlone(query, 'id');
  const { text, tag } = await tables.find(params.TABLE_NAME, id);
  reply.header('etag', `"${tag}"`);
  if (isUnchanged(headers['if-none-match'], tag)) return sendHead(reply, 304);
  return sendText(reply, 200, `{"statusCode":200,"body":${text}}`);
}

async function readCount(
  tables: Tables,
  { params, query }: ReadRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  if (query.count !== 'true') {
    throw invalidRequest('count', 'count must be "true".');
  }
  checkAlone(query, 'count');
  return sendEnvelope(reply, success({ count: await tables.count(params.TABLE_NAME) }));
}

/** Throws `invalid_request` if the query has another parameter. */
function checkAlone(query: Static<typeof readQuery>, param: keyof Static<typeof readQuery>): void {
  const others = Object.keys(query).filter((name) => name !== param);
  if (others.length === 0) return;
  const message = `${param} cannot be combined with ${others.join(' or ')}.`;
  throw invalidRequest(param, message);
}

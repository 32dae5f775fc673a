import { type TSchema, Type } from 'typebox';
import { type FieldsBesideError, success } from '../../envelope.ts';
import { commitWritesMax } from '../../storage/limits.ts';
import type { Tables, TableWrite } from '../../tables/tables.ts';
import { ifMatch } from '../response/conditional-requests.ts';
import { documentedAs, named, oneOf } from '../response/described.ts';
import { closed, errorResponses, noQuery, responseSchema } from '../response/schemas.ts';
import { sendEnvelope, sendText } from '../response/send.ts';
import type { Routes } from '../server/routes.ts';
import { item } from './item-schema.ts';
import { putRoute } from './put-item.ts';
import { read, readQuery, readRequestHeaders, readResponses } from './read-table.ts';
import { tableParams as params } from './table-params.ts';
import { writerOf } from './table-writer.ts';

const tags = ['Tables'];
const idBody = named(
  'ItemId',
  Type.Object({ id: item.properties.id }, { ...closed, examples: [{ id: 'emma' }] }),
);
/** Always the same, so they are made once. */
const itemAdded = JSON.stringify(success({ msg: 'Item added to table', complete: true }));
const itemUpdated = JSON.stringify(success({ message: 'Item updated' }));
const itemDeleted = JSON.stringify(success({ message: 'Item deleted' }));

const writeKinds = ['create', 'update', 'delete'] as const;
type WriteKind = (typeof writeKinds)[number] | 'put';
/**
 * A write of a batch. The other kinds are not allowed beside it, which generated types then reject too; `put` came later, and the
 * types of older clients do not change with it.
 */
const write = (kind: WriteKind, body: TSchema) =>
  Type.Unsafe({
    type: 'object',
    required: [kind],
    properties: Object.fromEntries(
      [...new Set([...writeKinds, kind])].map((each) => [each, each === kind ? body : false]),
    ),
    ...closed,
  });
const batchBody = named(
  'Batch',
  Type.Object(
    {
      writes: Type.Array(
        documentedAs(
          Type.Object(
            {
              create: Type.Optional(item),
              update: Type.Optional(item),
              put: Type.Optional(item),
              delete: Type.Optional(idBody),
            },
            { ...closed, minProperties: 1, maxProperties: 1 },
          ),
          named(
            'Write',
            oneOf(write('create', item), write('update', item), write('put', item), write('delete', idBody)),
          ),
        ),
        { minItems: 1, maxItems: commitWritesMax, description: 'Each item at most once' },
      ),
    },
    {
      ...closed,
      examples: [
        {
          writes: [
            { create: { id: 'ulysses', name: 'James Joyce' } },
            { update: { id: 'emma', name: 'J. Austen' } },
          ],
        },
      ],
    },
  ),
);
const ifMatchHeader = Type.Object({
  'if-match': Type.Optional(
    Type.String({ description: 'Write only if the item has this ETag, as returned by `read?id=`' }),
  ),
});

const besideCreateError: FieldsBesideError = (message) => ({ msg: message, complete: false });
const besideUpdateError: FieldsBesideError = (message) => ({ message });

/**
 * Reads, creates and updates items (interface.md, 4.2–4.4); deletes them and writes batches.
 *
 * @param prefix in front of `/v3`
 * @param aliases other path segments with the meaning of `table`
 */
export function tableRoutes(tables: Tables, prefix: string, aliases: readonly string[]): Routes {
  return (app) => {
    for (const segment of ['table', ...aliases]) {
      const path = `${prefix}/v3/${segment}/:TABLE_NAME`;
      const hide = segment !== 'table';

      app.get(
        `${path}/read`,
        {
          config: { access: 'tables:read' },
          schema: {
            tags,
            hide,
            operationId: 'readTable',
            summary: 'Read all items, one, or a page, or count them',
            params,
            querystring: readQuery,
            documentedHeaders: readRequestHeaders,
            response: { ...readResponses, ...errorResponses() },
          },
        },
        (request, reply) => read(tables, request, reply),
      );

      app.post(
        `${path}/create`,
        {
          config: { access: 'tables:write', besideError: besideCreateError },
          schema: {
            tags,
            hide,
            operationId: 'createItem',
            summary: 'Create an item',
            params,
            querystring: noQuery,
            body: item,
            response: {
              200: responseSchema(
                Type.Object({ msg: Type.Literal('Item added to table'), complete: Type.Literal(true) }),
                'The item is on disk',
              ),
              ...errorResponses('CreateErrorResponse', { msg: Type.String(), complete: Type.Literal(false) }),
            },
          },
        },
        async (request, reply) => {
          await tables.by(writerOf(request)).create(request.params.TABLE_NAME, request.body);
          return sendText(reply, 200, itemAdded);
        },
      );

      app.put(
        `${path}/update`,
        {
          config: { access: 'tables:write', besideError: besideUpdateError },
          schema: {
            tags,
            hide,
            operationId: 'updateItem',
            summary: 'Update an item',
            params,
            querystring: noQuery,
            headers: ifMatchHeader,
            body: item,
            response: {
              200: responseSchema(
                Type.Object({ message: Type.Literal('Item updated') }),
                'The change is on disk',
              ),
              ...errorResponses('WriteErrorResponse', { message: Type.String() }),
            },
          },
        },
        async (request, reply) => {
          await tables
            .by(writerOf(request))
            .update(request.params.TABLE_NAME, request.body, ifMatch(request.headers['if-match']));
          return sendText(reply, 200, itemUpdated);
        },
      );

      putRoute(tables, path, hide)(app);

      app.delete(
        `${path}/delete`,
        {
          config: { access: 'tables:write', besideError: besideUpdateError },
          schema: {
            tags,
            hide,
            operationId: 'deleteItem',
            summary: 'Delete an item',
            params,
            querystring: noQuery,
            headers: ifMatchHeader,
            body: idBody,
            response: {
              200: responseSchema(
                Type.Object({ message: Type.Literal('Item deleted') }),
                'The deletion is on disk',
              ),
              ...errorResponses('WriteErrorResponse', { message: Type.String() }),
            },
          },
        },
        async (request, reply) => {
          await tables
            .by(writerOf(request))
            .delete(request.params.TABLE_NAME, request.body, ifMatch(request.headers['if-match']));
          return sendText(reply, 200, itemDeleted);
        },
      );

      app.post(
        `${path}/batch`,
        {
          config: { access: 'tables:write', besideError: besideUpdateError },
          schema: {
            tags,
            hide,
            operationId: 'writeBatch',
            summary: 'Create, update, put and delete up to 100 items, all or nothing',
            params,
            querystring: noQuery,
            body: batchBody,
            response: {
              200: responseSchema(
                Type.Object({ message: Type.Literal('Batch written') }),
                'All of the writes are on disk',
              ),
              ...errorResponses('WriteErrorResponse', { message: Type.String() }),
            },
          },
        },
        async (request, reply) => {
          await tables
            .by(writerOf(request))
            .batch(request.params.TABLE_NAME, request.body.writes as TableWrite[]);
          return sendEnvelope(reply, success({ message: 'Batch written' }));
        },
      );
    }
  };
}

import { Type } from 'typebox';
import { type FieldsBesideError, success } from '../../envelope.ts';
import { commitWritesMax, itemIdBytesMax } from '../../storage/limits.ts';
import type { Tables, TableWrite } from '../../tables/tables.ts';
import { ifMatch } from '../response/conditional-requests.ts';
import { closed, errorResponseSchema, noQuery, responseSchema } from '../response/schemas.ts';
import { sendEnvelope } from '../response/send.ts';
import type { Routes } from '../server/routes.ts';
import { read, readQuery, readResponse } from './read-table.ts';

const tags = ['Tables'];
const params = Type.Object({
  TABLE_NAME: Type.String({ description: '1 to 255 of A-Z, a-z, 0-9, "_", "." and "-"' }),
});
const itemBody = Type.Object(
  {
    id: Type.String({ minLength: 1, description: `Partition key, 1 to ${itemIdBytesMax} bytes of UTF-8` }),
    name: Type.String({ description: 'The value of the item; with the id at most 400 KB' }),
  },
  closed,
);
const idBody = Type.Object({ id: itemBody.properties.id }, closed);
const batchBody = Type.Object(
  {
    writes: Type.Array(
      Type.Object(
        {
          create: Type.Optional(itemBody),
          update: Type.Optional(itemBody),
          delete: Type.Optional(idBody),
        },
        { ...closed, minProperties: 1, maxProperties: 1 },
      ),
      { minItems: 1, maxItems: commitWritesMax, description: 'Each item at most once' },
    ),
  },
  closed,
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
            summary: 'Read all items, one, or a page',
            params,
            querystring: readQuery,
            response: { 200: readResponse, '4xx': errorResponseSchema() },
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
            body: itemBody,
            response: {
              200: responseSchema(
                Type.Object({ msg: Type.Literal('Item added to table'), complete: Type.Literal(true) }),
                'The item is on disk',
              ),
              '4xx': errorResponseSchema({ msg: Type.String(), complete: Type.Literal(false) }),
            },
          },
        },
        async (request, reply) => {
          await tables.create(request.params.TABLE_NAME, request.body);
          return sendEnvelope(reply, success({ msg: 'Item added to table', complete: true }));
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
            body: itemBody,
            response: {
              200: responseSchema(
                Type.Object({ message: Type.Literal('Item updated') }),
                'The change is on disk',
              ),
              '4xx': errorResponseSchema({ message: Type.String() }),
            },
          },
        },
        async (request, reply) => {
          await tables.update(request.params.TABLE_NAME, request.body, ifMatch(request.headers['if-match']));
          return sendEnvelope(reply, success({ message: 'Item updated' }));
        },
      );

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
              '4xx': errorResponseSchema({ message: Type.String() }),
            },
          },
        },
        async (request, reply) => {
          await tables.delete(request.params.TABLE_NAME, request.body, ifMatch(request.headers['if-match']));
          return sendEnvelope(reply, success({ message: 'Item deleted' }));
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
            summary: 'Create, update and delete up to 100 items, all or nothing',
            params,
            querystring: noQuery,
            body: batchBody,
            response: {
              200: responseSchema(
                Type.Object({ message: Type.Literal('Batch written') }),
                'All of the writes are on disk',
              ),
              '4xx': errorResponseSchema({ message: Type.String() }),
            },
          },
        },
        async (request, reply) => {
          await tables.batch(request.params.TABLE_NAME, request.body.writes as TableWrite[]);
          return sendEnvelope(reply, success({ message: 'Batch written' }));
        },
      );
    }
  };
}

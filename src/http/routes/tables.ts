import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { requesterFor } from '../../access/permission.ts';
import { audited } from '../../audit/audit.ts';
import { success } from '../../envelope.ts';
import { ServiceError } from '../../errors.ts';
import type { PutCondition } from '../../tables/entity-tags.ts';
import { checkPage } from '../../tables/page.ts';
import type { Tables, TableWrite } from '../../tables/tables.ts';
import { ifMatch } from '../response/conditional-requests.ts';
import { limitOf, pageOf, pageSize } from '../response/pages.ts';
import { closed, responseSchema } from '../response/schemas.ts';
import { sendPage, sendText } from '../response/send.ts';
import { type LegacyErrorFields, type ListedOperation, operation, routesOf } from '../server/operation.ts';
import type { Routes } from '../server/routes.ts';
import { read, readQuery, readRequestHeaders, readResponses } from './read-table.ts';
import {
  batchBody,
  idBody,
  ifMatchHeader,
  item,
  tableParams as params,
  putHeaders,
  table,
} from './table-schemas.ts';

const tag = 'Tables';
const errorsOfCreate: LegacyErrorFields = {
  name: 'CreateErrorResponse',
  schemas: { msg: Type.String(), complete: Type.Literal(false) },
  valuesFor: (message) => ({ msg: message, complete: false }),
};
const errorsOfWrite: LegacyErrorFields = {
  name: 'WriteErrorResponse',
  schemas: { message: Type.String() },
  valuesFor: (message) => ({ message }),
};
/** Always the same, so they are made once. */
const itemAdded = JSON.stringify(success({ msg: 'Item added to table', complete: true }));
const itemUpdated = JSON.stringify(success({ message: 'Item updated' }));
const itemDeleted = JSON.stringify(success({ message: 'Item deleted' }));

/**
 * Reads, creates, updates, puts and deletes items (interface.md, 4.2–4.4), writes batches, lists tables and drops them.
 *
 * @param prefix in front of `/v3`
 * @param aliases other path segments with the meaning of `table`
 */
export function tableRoutes(tables: Tables, prefix: string, aliases: readonly string[]): Routes {
  const paths = ['table', ...aliases].map((segment) => `${prefix}/v3/${segment}/:TABLE_NAME`);
  return routesOf([
    ...paths.flatMap((path, index) => itemOperations(tables, path, index > 0)),
    listTables(tables, `${prefix}/v3/tables`),
    ...paths.map((path, index) => dropTable(tables, path, index > 0)),
  ]);
}

/** The operations on the items of a table. @param isHidden whether the path is an alias */
function itemOperations(tables: Tables, path: string, isHidden: boolean): readonly ListedOperation[] {
  return [
    operation({
      method: 'GET',
      path: `${path}/read`,
      id: 'readTable',
      tag,
      summary: 'Read all items, one, or a page, or count them',
      isHidden,
      access: 'tables:read',
      request: { params, query: readQuery, documentedHeaders: readRequestHeaders },
      ...readResponses,
      handle: (request, reply) => read(tables, request, reply),
    }),

    operation({
      method: 'POST',
      path: `${path}/create`,
      id: 'createItem',
      tag,
      summary: 'Create an item',
      isHidden,
      access: 'tables:write',
      request: { params, body: item },
      response: responseSchema(
        Type.Object({ msg: Type.Literal('Item added to table'), complete: Type.Literal(true) }),
        'The item is on disk',
      ),
      legacyErrorFields: errorsOfCreate,
      handle: async (request, reply) => {
        await writer(tables, request).create(request.params.TABLE_NAME, request.body);
        return sendText(reply, 200, itemAdded);
      },
    }),

    operation({
      method: 'PUT',
      path: `${path}/update`,
      id: 'updateItem',
      tag,
      summary: 'Update an item',
      isHidden,
      access: 'tables:write',
      request: { params, headers: ifMatchHeader, body: item },
      response: messageSchema('Item updated', 'The change is on disk'),
      legacyErrorFields: errorsOfWrite,
      handle: async (request, reply) => {
        const tags = ifMatch(request.headers['if-match']);
        await writer(tables, request).update(request.params.TABLE_NAME, request.body, tags);
        return sendText(reply, 200, itemUpdated);
      },
    }),

    operation({
      method: 'PUT',
      path: `${path}/put`,
      id: 'putItem',
      tag,
      summary: 'Create an item, or replace it',
      isHidden,
      access: 'tables:write',
      request: { params, headers: putHeaders, body: item },
      response: messageSchema('Item stored', 'The item is on disk'),
      legacyErrorFields: errorsOfWrite,
      handle: async (request) => {
        const { 'if-match': match, 'if-none-match': noneMatch } = request.headers;
        const condition = putCondition(match, noneMatch);
        await writer(tables, request).put(request.params.TABLE_NAME, request.body, condition);
        return { message: 'Item stored' };
      },
    }),

    operation({
      method: 'DELETE',
      path: `${path}/delete`,
      id: 'deleteItem',
      tag,
      summary: 'Delete an item',
      isHidden,
      access: 'tables:write',
      request: { params, headers: ifMatchHeader, body: idBody },
      response: messageSchema('Item deleted', 'The deletion is on disk'),
      legacyErrorFields: errorsOfWrite,
      handle: async (request, reply) => {
        const tags = ifMatch(request.headers['if-match']);
        await writer(tables, request).delete(request.params.TABLE_NAME, request.body, tags);
        return sendText(reply, 200, itemDeleted);
      },
    }),

    operation({
      method: 'POST',
      path: `${path}/batch`,
      id: 'writeBatch',
      tag,
      summary: 'Create, update, put and delete up to 100 items, all or nothing',
      isHidden,
      access: 'tables:write',
      request: { params, body: batchBody },
      response: messageSchema('Batch written', 'All of the writes are on disk'),
      legacyErrorFields: errorsOfWrite,
      handle: async (request) => {
        await writer(tables, request).batch(request.params.TABLE_NAME, request.body.writes as TableWrite[]);
        return { message: 'Batch written' };
      },
    }),
  ];
}

function listTables(tables: Tables, path: string): ListedOperation {
  return operation({
    method: 'GET',
    path,
    id: 'listTables',
    tag,
    summary: 'List tables',
    description: 'Of a key that is limited to tables, only those.',
    access: 'tables:read',
    config: { filtersTables: true },
    request: { query: Type.Object(pageSize, closed) },
    response: pageOf(table, 'Ordered by name; `next` if there are more'),
    handle: async (request, reply) => {
      const limit = limitOf(request.query.limit);
      const { after } = request.query;
      checkPage(limit, { after });
      const visible = request.caller.rights?.tables;
      const page = await tables.list(limit, after, (name) => visible?.includes(name) ?? true);
      return sendPage(reply, page.tables, page.next);
    },
  });
}

function dropTable(tables: Tables, path: string, isHidden: boolean): ListedOperation {
  return operation({
    method: 'DELETE',
    path,
    id: 'dropTable',
    tag,
    summary: 'Delete a table with all of its items',
    description:
      'Deletes 100 items in each commit, then the table; a declared table stays, empty. If the service ends ' +
      'meanwhile, the rest of the items stays: send the request again.',
    isHidden,
    access: 'admin',
    request: { params },
    response: responseSchema(
      Type.Object({ message: Type.Literal('Table deleted') }, closed),
      'The table and its items are deleted on disk',
    ),
    handle: async (request) => {
      const { TABLE_NAME: on } = request.params;
      const audit = audited({ what: 'table.dropped', on, ...requesterFor(request.caller, request.id) });
      await writer(tables, request).drop(on, audit);
      return { message: 'Table deleted' };
    },
  });
}

function messageSchema(message: string, description: string) {
  return responseSchema(Type.Object({ message: Type.Literal(message) }), description);
}

/** Tables for whom a request writes: its key or administrator, with all connections; without either, its address. */
function writer(tables: Tables, { caller, countedAddress }: FastifyRequest) {
  return tables.by(caller.id === '' ? `address:${countedAddress}` : caller.id);
}

/** Throws `invalid_request` for a condition that it does not know: ignoring one could overwrite the item that it protects. */
function putCondition(match: string | undefined, noneMatch: string | undefined): PutCondition {
  const tags = ifMatch(match);
  if (noneMatch === undefined) return tags === undefined ? undefined : { ifMatch: tags };
  if (noneMatch.trim() === '*' && tags === undefined) return 'ifNew';
  throw new ServiceError('invalid_request', {
    param: 'If-None-Match',
    message: 'If-None-Match must be "*" here, and cannot be combined with If-Match.',
  });
}

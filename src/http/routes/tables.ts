import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { requesterFor } from '../../access/permission.ts';
import { audited } from '../../audit/audit.ts';
import { success } from '../../envelope.ts';
import { invalidRequest } from '../../errors.ts';
import type { PutCondition } from '../../tables/entity-tags.ts';
import { checkPage } from '../../tables/page.ts';
import type { Tables, TableWrite } from '../../tables/tables.ts';
import { ifMatch } from '../response/conditional-requests.ts';
import { pageQuery, pageResponse, parseLimit, sendPage } from '../response/pagination.ts';
import { messageResponse, responseSchema } from '../response/schemas.ts';
import { sendText } from '../response/send.ts';
import {
  type LegacyErrors,
  type ListedOperation,
  operation,
  type Routes,
  routeFamily,
} from '../server/operation.ts';
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

/**
 * Reads, creates, updates, puts and deletes items, writes batches, lists tables and drops them.
 *
 * @param prefix in front of `/v3`
 * @param aliases other path segments with the meaning of `table`, which the OpenAPI document leaves out
 */
export function tableRoutes(tables: Tables, prefix: string, aliases: readonly string[]): Routes {
  const pathAt = (segment: string) => `${prefix}/v3/${segment}/:TABLE_NAME`;
  const aliased = aliases
    .map(pathAt)
    .flatMap((path) => [...itemOperations(tables, path), dropTable(tables, path)])
    .map(({ id: _, ...hidden }) => hidden);
  return routeFamily('Tables', [
    ...itemOperations(tables, pathAt('table')),
    listTables(tables, `${prefix}/v3/tables`),
    dropTable(tables, pathAt('table')),
    ...aliased,
  ]);
}

function itemOperations(tables: Tables, path: string): readonly ListedOperation[] {
  return [
    operation('GET', `${path}/read`, 'tables:read', {
      id: 'readTable',
      summary: 'Read all items, one, or a page, or count them',
      request: { params, query: readQuery, documentedHeaders: readRequestHeaders },
      ...readResponses,
      handle: (request, reply) => read(tables, request, reply),
    }),

    operation('POST', `${path}/create`, 'tables:write', {
      id: 'createItem',
      summary: 'Create an item',
      request: { params, body: item },
      response: responseSchema(
        Type.Object({ msg: Type.Literal('Item added to table'), complete: Type.Literal(true) }),
        'The item is on disk',
      ),
      legacyErrors: errorsOfCreate,
      handle: async (request, reply) => {
        await writer(tables, request).create(request.params.TABLE_NAME, request.body);
        return sendText(reply, 200, itemAdded);
      },
    }),

    operation('PUT', `${path}/update`, 'tables:write', {
      id: 'updateItem',
      summary: 'Update an item',
      request: { params, headers: ifMatchHeader, body: item },
      response: messageResponse('Item updated', 'The change is on disk', {}),
      legacyErrors: errorsOfWrite,
      handle: async (request, reply) => {
        const tags = ifMatch(request.headers['if-match']);
        await writer(tables, request).update(request.params.TABLE_NAME, request.body, tags);
        return sendText(reply, 200, itemUpdated);
      },
    }),

    operation('PUT', `${path}/put`, 'tables:write', {
      id: 'putItem',
      summary: 'Create an item, or replace it',
      request: { params, headers: putHeaders, body: item },
      response: messageResponse('Item stored', 'The item is on disk', {}),
      legacyErrors: errorsOfWrite,
      handle: async (request) => {
        const { 'if-match': match, 'if-none-match': noneMatch } = request.headers;
        const condition = putCondition(match, noneMatch);
        await writer(tables, request).put(request.params.TABLE_NAME, request.body, condition);
        return { message: 'Item stored' };
      },
    }),

    operation('DELETE', `${path}/delete`, 'tables:write', {
      id: 'deleteItem',
      summary: 'Delete an item',
      request: { params, headers: ifMatchHeader, body: idBody },
      response: messageResponse('Item deleted', 'The deletion is on disk', {}),
      legacyErrors: errorsOfWrite,
      handle: async (request, reply) => {
        const tags = ifMatch(request.headers['if-match']);
        await writer(tables, request).delete(request.params.TABLE_NAME, request.body, tags);
        return sendText(reply, 200, itemDeleted);
      },
    }),

    operation('POST', `${path}/batch`, 'tables:write', {
      id: 'writeBatch',
      summary: 'Create, update, put and delete up to 100 items, all or nothing',
      request: { params, body: batchBody },
      response: messageResponse('Batch written', 'All of the writes are on disk', {}),
      legacyErrors: errorsOfWrite,
      handle: async (request) => {
        await writer(tables, request).batch(request.params.TABLE_NAME, request.body.writes as TableWrite[]);
        return { message: 'Batch written' };
      },
    }),
  ];
}

function listTables(tables: Tables, path: string): ListedOperation {
  return operation('GET', path, 'tables:read', {
    id: 'listTables',
    summary: 'List tables',
    description: 'Of a key that is limited to tables, only those.',
    config: { filtersTables: true },
    request: { query: pageQuery },
    response: pageResponse(table, 'Ordered by name; `next` if there are more'),
    handle: async (request, reply) => {
      const limit = parseLimit(request.query.limit);
      const { after } = request.query;
      checkPage(limit, { after });
      const visible = request.caller.rights?.tables;
      const page = await tables.list(limit, after, (name) => visible?.includes(name) ?? true);
      return sendPage(reply, page.tables, page.next);
    },
  });
}

function dropTable(tables: Tables, path: string): ListedOperation {
  return operation('DELETE', path, 'admin', {
    id: 'dropTable',
    summary: 'Delete a table with all of its items',
    description:
      'Deletes 100 items in each commit, then the table; a declared table stays, empty. If the service ends ' +
      'meanwhile, the rest of the items stays: send the request again.',
    request: { params },
    response: messageResponse('Table deleted', 'The table and its items are deleted on disk'),
    handle: async (request) => {
      const { TABLE_NAME: on } = request.params;
      const audit = audited({ what: 'table.dropped', on, ...requesterFor(request.caller, request.id) });
      await writer(tables, request).drop(on, audit);
      return { message: 'Table deleted' };
    },
  });
}

const errorsOfCreate: LegacyErrors = {
  name: 'CreateErrorResponse',
  schemas: { msg: Type.String(), complete: Type.Literal(false) },
  fields: (message) => ({ msg: message, complete: false }),
};
const errorsOfWrite: LegacyErrors = {
  name: 'WriteErrorResponse',
  schemas: { message: Type.String() },
  fields: (message) => ({ message }),
};
/** The responses of the hot paths, made once. */
const itemAdded = JSON.stringify(success({ msg: 'Item added to table', complete: true }));
const itemUpdated = JSON.stringify(success({ message: 'Item updated' }));
const itemDeleted = JSON.stringify(success({ message: 'Item deleted' }));

/** Tables for whom a request writes: its key or administrator, with all connections; without either, its address. */
function writer(tables: Tables, { caller, countedAddress }: FastifyRequest) {
  return tables.by(caller.id === '' ? `address:${countedAddress}` : caller.id);
}

/** Throws `invalid_request` for a condition that it does not know: ignoring one could overwrite the item that it protects. */
function putCondition(match: string | undefined, noneMatch: string | undefined): PutCondition {
  const tags = ifMatch(match);
  if (noneMatch === undefined) return tags === undefined ? undefined : { ifMatch: tags };
  if (noneMatch.trim() === '*' && tags === undefined) return 'ifNew';
  throw invalidRequest(
    'If-None-Match',
    'If-None-Match must be "*" here, and cannot be combined with If-Match.',
  );
}

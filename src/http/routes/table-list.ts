import { Type } from 'typebox';
import { audited } from '../../access/audit.ts';
import { requesterOf } from '../../access/permission.ts';
import { success } from '../../envelope.ts';
import { checkPage } from '../../tables/page.ts';
import type { Tables } from '../../tables/tables.ts';
import { named } from '../response/described.ts';
import { limitOf, pageOf, pageSize } from '../response/pages.ts';
import { closed, errorResponses, noQuery, responseSchema } from '../response/schemas.ts';
import { sendEnvelope } from '../response/send.ts';
import type { Routes } from '../server/routes.ts';
import { tableParams } from './table-params.ts';
import { writerOf } from './table-writer.ts';

const tags = ['Tables'];
const tableBody = named(
  'Table',
  Type.Object(
    {
      name: Type.String(),
      count: Type.Optional(
        Type.Integer({ description: 'Items; absent on an engine that would have to count them' }),
      ),
      bytes: Type.Optional(
        Type.Integer({ description: 'Bytes of the items as `read` sends them; absent like `count`' }),
      ),
    },
    closed,
  ),
);

/**
 * Lists tables and drops them.
 *
 * @param prefix in front of `/v3`
 * @param aliases other path segments with the meaning of `table`
 */
export function tableListRoutes(tables: Tables, prefix: string, aliases: readonly string[]): Routes {
  return (app) => {
    app.get(
      `${prefix}/v3/tables`,
      {
        config: { access: 'tables:read', filtersTables: true },
        schema: {
          tags,
          operationId: 'listTables',
          summary: 'List tables',
          description: 'Of a key that is limited to tables, only those.',
          querystring: Type.Object(pageSize, closed),
          response: {
            200: pageOf(tableBody, 'Ordered by name; `next` if there are more'),
            ...errorResponses(),
          },
        },
      },
      async (request, reply) => {
        const limit = limitOf(request.query.limit);
        const { after } = request.query;
        checkPage(limit, { after });
        const visible = request.caller.rights?.tables;
        const page = await tables.list(limit, after, (table) => visible?.includes(table) ?? true);
        const next = page.next === undefined ? {} : { next: page.next };
        return sendEnvelope(reply, { ...success(page.tables), ...next });
      },
    );

    for (const segment of ['table', ...aliases]) {
      app.delete(
        `${prefix}/v3/${segment}/:TABLE_NAME`,
        {
          config: { access: 'admin' },
          schema: {
            tags,
            hide: segment !== 'table',
            operationId: 'dropTable',
            summary: 'Delete a table with all of its items',
            description:
              'Deletes 100 items in each commit, then the table; a declared table stays, empty. If the service ends ' +
              'meanwhile, the rest of the items stays: send the request again.',
            params: tableParams,
            querystring: noQuery,
            response: {
              200: responseSchema(
                Type.Object({ message: Type.Literal('Table deleted') }, closed),
                'The table and its items are deleted on disk',
              ),
              ...errorResponses(),
            },
          },
        },
        async (request, reply) => {
          const { TABLE_NAME: on } = request.params;
          const requester = requesterOf(request.caller, request.id);
          const audit = audited({ what: 'table.dropped', on, ...requester });
          await tables.by(writerOf(request)).drop(on, audit);
          return sendEnvelope(reply, success({ message: 'Table deleted' }));
        },
      );
    }
  };
}

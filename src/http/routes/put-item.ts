import { Type } from 'typebox';
import { success } from '../../envelope.ts';
import { ServiceError } from '../../errors.ts';
import type { PutCondition } from '../../tables/put-condition.ts';
import type { Tables } from '../../tables/tables.ts';
import { ifMatch } from '../response/conditional-requests.ts';
import { errorResponses, noQuery, responseSchema } from '../response/schemas.ts';
import { sendEnvelope } from '../response/send.ts';
import type { Routes } from '../server/routes.ts';
import { item } from './item-schema.ts';
import { tableParams } from './table-params.ts';
import { writerOf } from './table-writer.ts';

const headers = Type.Object({
  'if-match': Type.Optional(
    Type.String({ description: 'Write only if the item has this ETag, as returned by `read?id=`' }),
  ),
  'if-none-match': Type.Optional(
    Type.String({ description: '`*`: write only if the table has no item with this id' }),
  ),
});

/** Creates an item, or replaces the one with its id. */
export function putRoute(tables: Tables, path: string, hide: boolean): Routes {
  return (app) => {
    app.put(
      `${path}/put`,
      {
        config: { access: 'tables:write', besideError: (message) => ({ message }) },
        schema: {
          tags: ['Tables'],
          hide,
          operationId: 'putItem',
          summary: 'Create an item, or replace it',
          params: tableParams,
          querystring: noQuery,
          headers,
          body: item,
          response: {
            200: responseSchema(Type.Object({ message: Type.Literal('Item stored') }), 'The item is on disk'),
            ...errorResponses('WriteErrorResponse', { message: Type.String() }),
          },
        },
      },
      async (request, reply) => {
        const { 'if-match': match, 'if-none-match': noneMatch } = request.headers;
        await tables
          .by(writerOf(request))
          .put(request.params.TABLE_NAME, request.body, conditionOf(match, noneMatch));
        return sendEnvelope(reply, success({ message: 'Item stored' }));
      },
    );
  };
}

/** Throws `invalid_request` for a condition that it does not know: ignoring one could overwrite the item that it protects. */
function conditionOf(match: string | undefined, noneMatch: string | undefined): PutCondition {
  const tags = ifMatch(match);
  if (noneMatch === undefined) return tags === undefined ? undefined : { ifMatch: tags };
  if (noneMatch.trim() === '*' && tags === undefined) return 'ifNew';
  throw new ServiceError('invalid_request', {
    param: 'If-None-Match',
    message: 'If-None-Match must be "*" here, and cannot be combined with If-Match.',
  });
}

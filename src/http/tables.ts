import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { type FieldsBesideError, jsonContentType, success } from '../envelope.ts';
import { itemIdBytesMax } from '../limits.ts';
import type { Scan, Tables } from '../tables/tables.ts';
import { sendEnvelope, sendText } from './answer.ts';
import type { Routes } from './door.ts';
import { answerSchema, closed, errorAnswerSchema, noQuery } from './schemas.ts';

const tags = ['Tables'];
const params = Type.Object({
  TABLE_NAME: Type.String({ description: '1 to 255 of A-Z, a-z, 0-9, "_", "." and "-"' }),
});
const itemBody = Type.Object(
  {
    id: Type.String({ minLength: 1, description: `Partition key, 1 to ${itemIdBytesMax} bytes of UTF-8` }),
    name: Type.String({ description: 'What the id maps to; with the id at most 400 KB' }),
  },
  closed,
);
const item = Type.Object({ id: Type.String(), name: Type.String() });

const besideCreateError: FieldsBesideError = (message) => ({ msg: message, complete: false });
const besideUpdateError: FieldsBesideError = (message) => ({ message });

/**
 * Read, create and update items (interface.md, 4.2–4.4).
 *
 * @param prefix in front of `/v3`
 * @param aliases further path segments that mean `table`
 */
export function tableRoutes(tables: Tables, prefix: string, aliases: readonly string[]): Routes {
  return (app) => {
    for (const segment of ['table', ...aliases]) {
      const path = `${prefix}/v3/${segment}/:TABLE_NAME`;
      const hide = segment !== 'table';

      app.get(
        `${path}/read`,
        {
          schema: {
            tags,
            hide,
            summary: 'Read all items',
            params,
            querystring: noQuery,
            response: {
              200: answerSchema(Type.Array(item), 'Every item, ordered by id'),
              '4xx': errorAnswerSchema(),
            },
          },
        },
        async (request, reply) => sendItems(reply, await tables.read(request.params.TABLE_NAME)),
      );

      app.post(
        `${path}/create`,
        {
          config: { besideError: besideCreateError },
          schema: {
            tags,
            hide,
            summary: 'Create an item',
            params,
            querystring: noQuery,
            body: itemBody,
            response: {
              200: answerSchema(
                Type.Object({ msg: Type.Literal('Item added to table'), complete: Type.Literal(true) }),
                'The item is on disk',
              ),
              '4xx': errorAnswerSchema({ msg: Type.String(), complete: Type.Literal(false) }),
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
          config: { besideError: besideUpdateError },
          schema: {
            tags,
            hide,
            summary: 'Update an item',
            params,
            querystring: noQuery,
            body: itemBody,
            response: {
              200: answerSchema(
                Type.Object({ message: Type.Literal('Item updated') }),
                'The change is on disk',
              ),
              '4xx': errorAnswerSchema({ message: Type.String() }),
            },
          },
        },
        async (request, reply) => {
          await tables.update(request.params.TABLE_NAME, request.body);
          return sendEnvelope(reply, success({ message: 'Item updated' }));
        },
      );
    }
  };
}

const opening = '{"statusCode":200,"body":[';
const closing = ']}';

/** A table that is at hand goes out as one piece with its length, a larger one as it is read. */
function sendItems(reply: FastifyReply, { chunks, textBytes }: Scan): FastifyReply {
  if (Array.isArray(chunks)) return sendText(reply, 200, opening + chunks.join() + closing);
  reply.header('content-type', jsonContentType);
  reply.header('content-length', opening.length + textBytes + closing.length);
  return reply.send(Readable.from(pieces(chunks), { objectMode: false }));
}

/** A failure on the way throws, which breaks the connection: the answer never ends as if it were whole. */
async function* pieces(chunks: Scan['chunks']): AsyncGenerator<string | Buffer> {
  yield opening;
  let isFirst = true;
  for await (const chunk of chunks) {
    if (!isFirst) yield ',';
    isFirst = false;
    yield chunk;
  }
  yield closing;
}

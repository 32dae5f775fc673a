import { type TSchema, Type } from 'typebox';
import { commitWritesMax, itemIdBytesMax } from '../../storage/limits.ts';
import { documentedAs, named, oneOf } from '../response/described.ts';
import { strictObject } from '../response/schemas.ts';

/** The path of an operation on a table. */
export const tableParams = Type.Object({
  TABLE_NAME: Type.String({
    description: '1 to 255 of A-Z, a-z, 0-9, "_", "." and "-"',
    examples: ['books'],
  }),
});

/** An item of a table, in requests and in responses. */
export const item = named(
  'Item',
  strictObject(
    {
      id: Type.String({ minLength: 1, description: `Partition key, 1 to ${itemIdBytesMax} bytes of UTF-8` }),
      name: Type.String({ description: 'The value of the item; with the id at most 400 KB' }),
    },
    { examples: [{ id: 'emma', name: 'Jane Austen' }] },
  ),
);

export const idBody = named(
  'ItemId',
  strictObject({ id: item.properties.id }, { examples: [{ id: 'emma' }] }),
);

const writeKinds = ['create', 'update', 'delete'] as const;
type WriteKind = (typeof writeKinds)[number] | 'put';
/**
 * A write of a batch. Each alternative lists the other kinds as forbidden, so that generated types reject them too. `put`, which came
 * later, is in no such list: the types of older clients stay the same.
 */
const write = (kind: WriteKind, body: TSchema) =>
  Type.Unsafe({
    type: 'object',
    required: [kind],
    properties: Object.fromEntries(
      [...new Set([...writeKinds, kind])].map((each) => [each, each === kind ? body : false]),
    ),
    additionalProperties: false,
  });

export const batchBody = named(
  'Batch',
  strictObject(
    {
      writes: Type.Array(
        documentedAs(
          strictObject(
            {
              create: Type.Optional(item),
              update: Type.Optional(item),
              put: Type.Optional(item),
              delete: Type.Optional(idBody),
            },
            { minProperties: 1, maxProperties: 1 },
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

const ifMatch = Type.Optional(
  Type.String({ description: 'Write only if the item has this ETag, as returned by `read?id=`' }),
);
export const ifMatchHeader = Type.Object({ 'if-match': ifMatch });
export const putHeaders = Type.Object({
  'if-match': ifMatch,
  'if-none-match': Type.Optional(
    Type.String({ description: '`*`: write only if the table has no item with this id' }),
  ),
});

export const table = named(
  'Table',
  strictObject({
    name: Type.String(),
    count: Type.Optional(
      Type.Integer({ description: 'Items; absent on an engine that would have to count them' }),
    ),
    bytes: Type.Optional(
      Type.Integer({ description: 'Bytes of the items as `read` sends them; absent like `count`' }),
    ),
  }),
);

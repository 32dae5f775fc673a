import { Type } from 'typebox';
import { itemIdBytesMax } from '../../storage/limits.ts';
import { named } from '../response/described.ts';
import { closed } from '../response/schemas.ts';

/** An item of a table, in requests and in responses. */
export const item = named(
  'Item',
  Type.Object(
    {
      id: Type.String({ minLength: 1, description: `Partition key, 1 to ${itemIdBytesMax} bytes of UTF-8` }),
      name: Type.String({ description: 'The value of the item; with the id at most 400 KB' }),
    },
    { ...closed, examples: [{ id: 'emma', name: 'Jane Austen' }] },
  ),
);

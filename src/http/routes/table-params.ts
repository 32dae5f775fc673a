import { Type } from 'typebox';

/** The path of an operation on a table. */
export const tableParams = Type.Object({
  TABLE_NAME: Type.String({
    description: '1 to 255 of A-Z, a-z, 0-9, "_", "." and "-"',
    examples: ['books'],
  }),
});

import { type TSchema, Type } from 'typebox';
import { ServiceError } from '../../errors.ts';
import { peoplePageMax } from '../../sign-in/limits.ts';
import { envelopeSchema, numberInQuery, pageSchema } from './schemas.ts';

/** Query parameters of a paginated list. */
export const pageSize = {
  limit: numberInQuery('The maximum number of entries of the page', {
    minimum: 1,
    maximum: peoplePageMax,
    default: peoplePageMax,
  }),
  after: Type.Optional(Type.String({ minLength: 1, description: '`next` of the previous page' })),
};

/** A page of a list in the OpenAPI document. */
export function pageOf(item: TSchema, description: string) {
  return envelopeSchema(pageSchema(item), description);
}

/** Parses `limit`. Throws `invalid_request`. */
export function limitOf(text: string = String(peoplePageMax)): number {
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= peoplePageMax) return limit;
  throw new ServiceError('invalid_request', {
    param: 'limit',
    message: `limit must be a whole number from 1 to ${peoplePageMax}.`,
  });
}

import type { FastifyReply } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { defined } from '../../defined.ts';
import { success } from '../../envelope.ts';
import { invalidRequest } from '../../errors.ts';
import { peoplePageMax } from '../../sign-in/limits.ts';
import { documentedAs } from './described.ts';
import { envelopeSchema, statusOk, strictObject } from './schemas.ts';
import { sendEnvelope } from './send.ts';

/** The query has digits; the domain checks the number. @param documented keywords of the number in the OpenAPI document */
export function numberInQuery(description: string, documented: object) {
  return documentedAs(Type.Optional(Type.String({ description })), { type: 'integer', ...documented });
}

/** Query parameters of a paginated list. */
export const pageParameters = {
  limit: numberInQuery('The maximum number of entries of the page', {
    minimum: 1,
    maximum: peoplePageMax,
    default: peoplePageMax,
  }),
  after: Type.Optional(Type.String({ minLength: 1, description: '`next` of the previous page' })),
};

/** The query of a list that has no filters. */
export const pageQuery = strictObject(pageParameters);

/** Throws `invalid_request`. */
export function parseLimit(text: string = String(peoplePageMax)): number {
  const limit = wholeNumber(text);
  if (limit >= 1 && limit <= peoplePageMax) return limit;
  throw invalidRequest('limit', `limit must be a whole number from 1 to ${peoplePageMax}.`);
}

/** NaN if the text is not a whole number, which no domain accepts as a limit. */
export function wholeNumber(text: string): number {
  return /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
}

/** Sends a page of a list. @param next `after` of the next page; undefined on the last one */
export function sendPage(
  reply: FastifyReply,
  items: readonly unknown[],
  next: string | undefined,
): FastifyReply {
  return sendEnvelope(reply, { ...success(items), ...defined({ next }) });
}

/** A page of a list in the OpenAPI document. */
export function pageResponse(item: TSchema, description: string) {
  return envelopeSchema(pageSchema(item), description);
}

/** `next` is the `after` of the next page. */
export function pageSchema(item: TSchema): TSchema {
  const next = Type.Optional(
    Type.String({ description: '`after` of the next page; absent on the last page' }),
  );
  return strictObject({ statusCode: statusOk, body: Type.Array(item), next });
}

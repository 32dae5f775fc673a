import { Type } from 'typebox';
import { actKinds, publicAct } from '../../audit/audit.ts';
import type { AuditReader } from '../../audit/audit-page.ts';
import { named } from '../response/described.ts';
import { pageQuery, pageResponse, parseLimit, sendPage } from '../response/pagination.ts';
import { nullable, strictObject, stringEnum, timestamp } from '../response/schemas.ts';
import { operation, type Routes, routeFamily } from '../server/operation.ts';

/** Administrators read here what was done, and by whom. @param prefix in front of `/v3` */
export function auditRoutes(audit: AuditReader, prefix: string): Routes {
  return routeFamily('Administration', [
    operation('GET', `${prefix}/v3/audit`, 'admin', {
      id: 'listAudit',
      summary: 'List what administrators and users have done',
      request: { query: pageQuery },
      response: pageResponse(act, 'Newest first; `next` if there are more'),
      handle: async ({ query: { limit, after } }, reply) => {
        const { acts, next } = await audit.page(parseLimit(limit), after);
        return sendPage(reply, acts.map(publicAct), next);
      },
    }),
  ]);
}

const act = named(
  'AuditAct',
  strictObject({
    id: Type.String(),
    at: timestamp,
    what: stringEnum(actKinds, { description: 'What was done; a later version may add further words' }),
    on: Type.String({ description: 'The id or name of the object' }),
    by: Type.String({
      description:
        '`key:ID` for an API key, `administrator:ID` for a named administrator by the id of the user; or `cli`, ' +
        '`service`, `user`, `provider`, or `open` on a service without keys',
      examples: ['key:0123456789abcdef'],
    }),
    administrator: Type.Optional(
      strictObject(
        { issuer: Type.String(), subject: Type.String(), name: Type.Optional(Type.String()) },
        { description: 'Who `administrator:ID` was at the time of the act' },
      ),
    ),
    refund: Type.Optional(
      strictObject(
        {
          id: Type.String(),
          amount: Type.Integer({ description: 'In the smallest unit of the currency' }),
          currency: Type.String({ description: 'ISO 4217' }),
        },
        { description: 'Of `payment.refunded`: the refund of the payment' },
      ),
    ),
    request_id: nullable(Type.String()),
  }),
);

import { Type } from 'typebox';
import { actKinds, publicAct } from '../../audit/audit.ts';
import type { AuditReader } from '../../audit/audit-page.ts';
import { success } from '../../envelope.ts';
import { named } from '../response/described.ts';
import { limitOf, pageOf, pageSize } from '../response/pages.ts';
import { closed, enumOf, errorResponses, timestamp } from '../response/schemas.ts';
import { sendEnvelope } from '../response/send.ts';
import type { Routes } from '../server/routes.ts';

const act = named(
  'AuditAct',
  Type.Object(
    {
      id: Type.String(),
      at: timestamp,
      what: enumOf(actKinds, { description: 'What was done; a later version may add further words' }),
      on: Type.String({ description: 'The id or name of the object' }),
      by: Type.String({
        description:
          '`key:ID` for an API key, `administrator:ID` for a named administrator by the id of the user; or `cli`, ' +
          '`service`, `user`, `provider`, or `open` on a service without keys',
        examples: ['key:0123456789abcdef'],
      }),
      administrator: Type.Optional(
        Type.Object(
          { issuer: Type.String(), subject: Type.String(), name: Type.Optional(Type.String()) },
          { ...closed, description: 'Who `administrator:ID` was at the time of the act' },
        ),
      ),
      refund: Type.Optional(
        Type.Object(
          {
            id: Type.String(),
            amount: Type.Integer({ description: 'In the smallest unit of the currency' }),
            currency: Type.String({ description: 'ISO 4217' }),
          },
          { ...closed, description: 'Of `payment.refunded`: the refund of the payment' },
        ),
      ),
      request_id: Type.Union([Type.String(), Type.Null()]),
    },
    closed,
  ),
);

/** Administrators read here what was done, and by whom. @param prefix in front of `/v3` */
export function auditRoutes(audit: AuditReader, prefix: string): Routes {
  return (app) => {
    app.get(
      `${prefix}/v3/audit`,
      {
        config: { access: 'admin' },
        schema: {
          tags: ['Administration'],
          operationId: 'listAudit',
          summary: 'List what administrators and users have done',
          querystring: Type.Object(pageSize, closed),
          response: {
            200: pageOf(act, 'Newest first; `next` if there are more'),
            ...errorResponses(),
          },
        },
      },
      async (request, reply) => {
        const { limit, after } = request.query;
        const page = await audit.page(limitOf(limit), after);
        const next = page.next === undefined ? {} : { next: page.next };
        return sendEnvelope(reply, { ...success(page.acts.map(publicAct)), ...next });
      },
    );
  };
}

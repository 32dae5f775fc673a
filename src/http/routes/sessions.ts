import { type Static, Type } from 'typebox';
import { requesterFor } from '../../access/permission.ts';
import { durationOf } from '../../duration.ts';
import { success } from '../../envelope.ts';
import { ServiceError } from '../../errors.ts';
import type { SignIn } from '../../sign-in/sign-in.ts';
import type { SessionFilter } from '../../sign-in/types.ts';
import { publicSession } from '../../sign-in/types.ts';
import { named } from '../response/described.ts';
import { limitOf, pageOf, pageSize } from '../response/pages.ts';
import { closed, errorResponses, noQuery, responseSchema, timestamp } from '../response/schemas.ts';
import { sendEnvelope } from '../response/send.ts';
import type { Routes } from '../server/routes.ts';
import { providerSchema } from './provider-param.ts';

const tags = ['Users'];
const filters = {
  user: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9_-]{22}$', description: 'The id of a user' })),
  integration: Type.Optional(
    Type.String({ pattern: '^[a-z]+/[a-z0-9-]+$', description: 'Provider and name, such as google/web' }),
  ),
  older_than: Type.Optional(
    Type.String({
      pattern: '^\\d{1,6}[mhd]$',
      description: 'Minimum time since the sign-in, such as 30m, 24h or 90d',
    }),
  ),
};
const filterQuery = Type.Object(filters, closed);
const sessionBody = named(
  'Session',
  Type.Object(
    {
      id: Type.String(),
      user: Type.String({ description: 'The id of the user' }),
      provider: providerSchema,
      integration: Type.String(),
      created_at: timestamp,
      last_seen_at: timestamp,
      expires_at: timestamp,
    },
    closed,
  ),
);
const params = Type.Object({ session_id: Type.String() });

/** Operators list and end sessions here. */
export function sessionListRoutes({
  people,
  prefix,
  now,
}: Pick<SignIn, 'people' | 'prefix' | 'now'>): Routes {
  const filterOf = ({ user, integration, older_than }: Static<typeof filterQuery>): SessionFilter => ({
    ...(user === undefined ? {} : { user }),
    ...(integration === undefined ? {} : { integration }),
    ...(older_than === undefined ? {} : { createdBefore: now() - (durationOf(older_than) ?? 0) }),
  });
  return (app) => {
    app.get(
      `${prefix}/v3/sessions`,
      {
        config: { access: 'users:read' },
        schema: {
          tags,
          operationId: 'listSessions',
          summary: 'List sessions',
          querystring: Type.Object({ ...filters, ...pageSize }, closed),
          response: {
            200: pageOf(sessionBody, 'Live sessions; `next` if there are more'),
            ...errorResponses(),
          },
        },
      },
      async (request, reply) => {
        const { limit, after, ...query } = request.query;
        const page = await people.sessions(filterOf(query), limitOf(limit), after);
        const next = page.next === undefined ? {} : { next: page.next };
        return sendEnvelope(reply, { ...success(page.sessions.map(publicSession)), ...next });
      },
    );

    app.delete(
      `${prefix}/v3/sessions`,
      {
        config: { access: 'users:write' },
        schema: {
          tags,
          operationId: 'endSessions',
          summary: 'End sessions',
          description:
            'Ends the sessions that match all given filters, and their tokens. At least one filter is required.',
          querystring: filterQuery,
          response: {
            200: responseSchema(
              Type.Object({ ended: Type.Integer({ minimum: 0 }) }, closed),
              'How many sessions ended',
            ),
            ...errorResponses(),
          },
        },
      },
      async (request, reply) => {
        const { query } = request;
        if (Object.keys(query).length === 0)
          throw new ServiceError('invalid_request', {
            message: 'At least one filter is required: user, integration or older_than.',
          });
        const on = Object.entries(query).map(([name, value]) => `${name}=${value}`);
        const ended = await people.endSessions({
          filter: filterOf(query),
          act: { what: 'sessions.ended', on: on.join(' '), ...requesterFor(request.caller, request.id) },
        });
        return sendEnvelope(reply, success({ ended }));
      },
    );

    app.delete(
      `${prefix}/v3/sessions/:session_id`,
      {
        config: { access: 'users:write' },
        schema: {
          tags,
          operationId: 'endSession',
          summary: 'End a session',
          params,
          querystring: noQuery,
          response: {
            200: responseSchema(
              Type.Object({ message: Type.Literal('Session ended') }, closed),
              'The session and its tokens have ended',
            ),
            ...errorResponses(),
          },
        },
      },
      async (request, reply) => {
        const { session_id: id } = request.params;
        await people.endSession(id, requesterFor(request.caller, request.id));
        return sendEnvelope(reply, success({ message: 'Session ended' }));
      },
    );
  };
}

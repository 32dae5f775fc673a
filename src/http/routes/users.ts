import { type Static, Type } from 'typebox';
import { requesterFor } from '../../access/permission.ts';
import { defined } from '../../defined.ts';
import { invalidRequest } from '../../errors.ts';
import type { SignIn } from '../../sign-in/sign-in.ts';
import { publicSession, publicUser, type SessionFilter } from '../../sign-in/types.ts';
import { parseDuration } from '../../time.ts';
import { named } from '../response/described.ts';
import { pageParameters, pageQuery, pageResponse, parseLimit, sendPage } from '../response/pagination.ts';
import { messageResponse, responseSchema, strictObject, timestamp } from '../response/schemas.ts';
import { operation, type Routes, routeFamily } from '../server/operation.ts';
import { providerSchema } from './integration-schemas.ts';

/** Operators manage users and their sessions here. */
export function userRoutes({ people, prefix, now }: Pick<SignIn, 'people' | 'prefix' | 'now'>): Routes {
  const users = `${prefix}/v3/users`;
  const sessions = `${prefix}/v3/sessions`;
  return routeFamily('Users', [
    operation('GET', users, 'users:read', {
      id: 'listUsers',
      summary: 'List users',
      request: { query: pageQuery },
      response: pageResponse(user, 'Ordered by id; `next` if there are more'),
      handle: async ({ query: { limit, after } }, reply) => {
        const page = await people.users(parseLimit(limit), after);
        return sendPage(reply, page.users.map(publicUser), page.next);
      },
    }),

    operation('GET', `${users}/:user_id`, 'users:read', {
      id: 'getUser',
      summary: 'Retrieve a user',
      request: { params: userParams },
      response: responseSchema(user, 'The user'),
      handle: async ({ params }) => publicUser(await people.user(params.user_id)),
    }),

    operation('DELETE', `${users}/:user_id`, 'users:write', {
      id: 'deleteUser',
      summary: 'Delete a user',
      description:
        'Ends all sessions and tokens of the user and erases the profile. A later sign-in creates a new user.',
      request: { params: userParams },
      response: messageResponse('User deleted', 'All personal data of the user is deleted'),
      handle: async ({ params, caller, id }) => {
        await people.deleteUser(params.user_id, requesterFor(caller, id));
        return { message: 'User deleted' };
      },
    }),

    operation('GET', sessions, 'users:read', {
      id: 'listSessions',
      summary: 'List sessions',
      request: { query: strictObject({ ...filters, ...pageParameters }) },
      response: pageResponse(session, 'Live sessions; `next` if there are more'),
      handle: async ({ query: { limit, after, ...filter } }, reply) => {
        const page = await people.sessions(parseFilter(filter, now()), parseLimit(limit), after);
        return sendPage(reply, page.sessions.map(publicSession), page.next);
      },
    }),

    operation('DELETE', sessions, 'users:write', {
      id: 'endSessions',
      summary: 'End sessions',
      description:
        'Ends the sessions that match all given filters, and their tokens. At least one filter is required.',
      request: { query: filterQuery },
      response: responseSchema(
        strictObject({ ended: Type.Integer({ minimum: 0 }) }),
        'How many sessions ended',
      ),
      handle: async ({ query, caller, id }) => {
        if (Object.keys(query).length === 0) throw noFilter;
        const on = Object.entries(query).map(([name, value]) => `${name}=${value}`);
        const act = { what: 'sessions.ended', on: on.join(' '), ...requesterFor(caller, id) } as const;
        return { ended: await people.endSessions({ filter: parseFilter(query, now()), act }) };
      },
    }),

    operation('DELETE', `${sessions}/:session_id`, 'users:write', {
      id: 'endSession',
      summary: 'End a session',
      request: { params: Type.Object({ session_id: Type.String() }) },
      response: messageResponse('Session ended', 'The session and its tokens have ended'),
      handle: async ({ params, caller, id }) => {
        await people.endSession(params.session_id, requesterFor(caller, id));
        return { message: 'Session ended' };
      },
    }),
  ]);
}

const userParams = Type.Object({ user_id: Type.String({ description: 'As in `sub` of access tokens' }) });
const user = named(
  'User',
  strictObject({
    id: Type.String(),
    issuer: Type.String(),
    subject: Type.String(),
    provider: providerSchema,
    integration: Type.String({ description: 'The integration of the last sign-in' }),
    name: Type.Optional(Type.String()),
    email: Type.Optional(Type.String()),
    email_verified: Type.Optional(Type.Boolean()),
    picture: Type.Optional(Type.String()),
    first_sign_in_at: timestamp,
    last_sign_in_at: timestamp,
  }),
);
const session = named(
  'Session',
  strictObject({
    id: Type.String(),
    user: Type.String({ description: 'The id of the user' }),
    provider: providerSchema,
    integration: Type.String(),
    created_at: timestamp,
    last_seen_at: timestamp,
    expires_at: timestamp,
  }),
);
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
const filterQuery = strictObject(filters);

function parseFilter(
  { user, integration, older_than }: Static<typeof filterQuery>,
  now: number,
): SessionFilter {
  const createdBefore = older_than === undefined ? undefined : now - (parseDuration(older_than) ?? 0);
  return defined({ user, integration, createdBefore });
}

const noFilter = invalidRequest(
  undefined,
  'At least one filter is required: user, integration or older_than.',
);

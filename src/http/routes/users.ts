import { Type } from 'typebox';
import { requesterFor } from '../../access/permission.ts';
import { success } from '../../envelope.ts';
import type { SignIn } from '../../sign-in/sign-in.ts';
import { publicUser } from '../../sign-in/types.ts';
import { named } from '../response/described.ts';
import { limitOf, pageOf, pageSize } from '../response/pages.ts';
import { closed, errorResponses, noQuery, responseSchema, timestamp } from '../response/schemas.ts';
import { sendEnvelope } from '../response/send.ts';
import type { Routes } from '../server/routes.ts';
import { providerSchema } from './provider-param.ts';

const tags = ['Users'];
const params = Type.Object({ user_id: Type.String({ description: 'As in `sub` of access tokens' }) });
const userBody = named(
  'User',
  Type.Object(
    {
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
    },
    closed,
  ),
);

/** Operators list, retrieve and delete users here. */
export function userRoutes({ people, prefix }: Pick<SignIn, 'people' | 'prefix'>): Routes {
  return (app) => {
    app.get(
      `${prefix}/v3/users`,
      {
        config: { access: 'users:read' },
        schema: {
          tags,
          operationId: 'listUsers',
          summary: 'List users',
          querystring: Type.Object(pageSize, closed),
          response: {
            200: pageOf(userBody, 'Ordered by id; `next` if there are more'),
            ...errorResponses(),
          },
        },
      },
      async (request, reply) => {
        const { limit, after } = request.query;
        const page = await people.users(limitOf(limit), after);
        const next = page.next === undefined ? {} : { next: page.next };
        return sendEnvelope(reply, { ...success(page.users.map(publicUser)), ...next });
      },
    );

    app.get(
      `${prefix}/v3/users/:user_id`,
      {
        config: { access: 'users:read' },
        schema: {
          tags,
          operationId: 'getUser',
          summary: 'Retrieve a user',
          params,
          querystring: noQuery,
          response: { 200: responseSchema(userBody, 'The user'), ...errorResponses() },
        },
      },
      async (request, reply) =>
        sendEnvelope(reply, success(publicUser(await people.user(request.params.user_id)))),
    );

    app.delete(
      `${prefix}/v3/users/:user_id`,
      {
        config: { access: 'users:write' },
        schema: {
          tags,
          operationId: 'deleteUser',
          summary: 'Delete a user',
          description:
            'Ends all sessions and tokens of the user and erases the profile. A later sign-in creates a new user.',
          params,
          querystring: noQuery,
          response: {
            200: responseSchema(
              Type.Object({ message: Type.Literal('User deleted') }, closed),
              'All personal data of the user is deleted',
            ),
            ...errorResponses(),
          },
        },
      },
      async (request, reply) => {
        await people.deleteUser(request.params.user_id, requesterFor(request.caller, request.id));
        return sendEnvelope(reply, success({ message: 'User deleted' }));
      },
    );
  };
}

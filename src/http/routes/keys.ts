import type { FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import { Type } from 'typebox';
import {
  apiKeyOverlapMsDefault,
  type CreateKeyRequest,
  type ListedKey,
  publicKey,
  publishableScopes,
  type ShownKey,
} from '../../access/keys/api-key.ts';
import type { KeyRequester, Keys } from '../../access/keys/keys.ts';
import type { Scope } from '../../access/scopes.ts';
import { success } from '../../envelope.ts';
import { ServiceError } from '../../errors.ts';
import { timestampOf } from '../../timestamps.ts';
import { limitOf, pageOf, pageSize } from '../response/pages.ts';
import { closed, emptyWhenAbsent, errorResponses, noQuery, responseSchema } from '../response/schemas.ts';
import { sendEnvelope } from '../response/send.ts';
import { privateHeaders } from '../response/sign-in-page.ts';
import type { Routes } from '../server/routes.ts';
import { apiKey, createBody, createdBy, keyParams, rotateBody, shownKey } from './key-schemas.ts';

const tags = ['Administration'];

/**
 * API keys: list, create, rotate, revoke. A secret is in the response that makes it, and in no other.
 *
 * @param now milliseconds since 1970 @param prefix in front of `/v3`
 */
export function keyRoutes(keys: Keys, now: () => number, prefix: string): Routes {
  const path = `${prefix}/v3/keys`;
  const listed = (key: ListedKey) => ({ ...publicKey(key, now()), last_used_at: key.lastUsedAt ?? null });
  const shown = ({ key, text }: ShownKey) => success({ ...publicKey(key, now()), key: text });
  return (app) => {
    app.get(
      path,
      {
        config: { access: 'keys:read' },
        schema: {
          tags,
          operationId: 'listKeys',
          summary: 'List API keys',
          querystring: Type.Object({ ...pageSize, created_by: createdBy }, closed),
          response: {
            200: pageOf(apiKey, 'Without secrets, in the order of their creation; `next` if there are more'),
            ...errorResponses(),
          },
        },
      },
      async (request, reply) => {
        const { limit, after, created_by } = request.query;
        const page = await keys.page(limitOf(limit), after, created_by);
        const next = page.next === undefined ? {} : { next: page.next };
        return sendEnvelope(reply, { ...success(page.keys.map(listed)), ...next });
      },
    );

    app.post(
      path,
      {
        config: { access: 'keys:write' },
        schema: {
          tags,
          operationId: 'createKey',
          summary: 'Create an API key',
          description:
            'A key can create only keys that may do no more, and that end no later, than itself. If the response is lost, a ' +
            'repeated request is 409 `key_exists`; rotate the key then. A service without keys makes none over HTTP: the command ' +
            '`counterfoil keys create` makes the first one.',
          querystring: noQuery,
          body: createBody,
          response: { 200: responseSchema(shownKey, 'The key, which is on disk'), ...errorResponses() },
        },
      },
      async (request, reply) => {
        const made = await keys.create(requesterFor(request), requestOf(request.body), request.body.replaces);
        return sendEnvelope(reply.headers(privateHeaders), shown(made));
      },
    );

    app.post(
      `${path}/:key_id/rotate`,
      {
        config: { access: 'keys:write' },
        preValidation: emptyWhenAbsent,
        schema: {
          tags,
          operationId: 'rotateKey',
          summary: 'Give an API key a new secret',
          description:
            'The present secret stays valid for the overlap. While it does, a further rotation is 409 `rotation_unfinished`.',
          params: keyParams,
          querystring: noQuery,
          body: rotateBody,
          response: { 200: responseSchema(shownKey, 'The key with its new secret'), ...errorResponses() },
        },
      },
      async (request, reply) => {
        const { overlap_seconds: seconds, ends_previous: endsPrevious = false } = request.body;
        const overlapMs = seconds === undefined ? apiKeyOverlapMsDefault : seconds * 1_000;
        const { key_id } = request.params;
        const rotated = await keys.rotate(requesterFor(request), key_id, { overlapMs, endsPrevious });
        return sendEnvelope(reply.headers(privateHeaders), shown(rotated));
      },
    );

    app.delete(
      `${path}/:key_id`,
      {
        config: { access: 'keys:write' },
        schema: {
          tags,
          operationId: 'revokeKey',
          summary: 'Revoke an API key',
          description:
            'A key that is revoked stays as it is. The last valid key with the scope `admin` is 409.',
          params: keyParams,
          querystring: noQuery,
          response: {
            200: responseSchema(apiKey, 'This process rejects the key, and all others do within a second'),
            ...errorResponses(),
          },
        },
      },
      async (request, reply) =>
        sendEnvelope(reply, success(listed(await keys.revoke(requesterFor(request), request.params.key_id)))),
    );
  };
}

function requesterFor({ caller, id }: FastifyRequest): KeyRequester {
  return { caller, requestId: id };
}

function requestOf(body: Static<typeof createBody>): CreateKeyRequest {
  const { name, kind = 'secret', tables, routes, origins, expires_at } = body;
  const { scopes = kind === 'publishable' ? publishableScopes : [] } = body;
  return {
    kind,
    name,
    // The domain rejects what is no scope.
    scopes: scopes as readonly Scope[],
    ...(tables === undefined ? {} : { tables }),
    ...(routes === undefined ? {} : { routes }),
    ...(origins === undefined ? {} : { origins }),
    ...(expires_at === undefined ? {} : { expiresAt: expiryOf(expires_at) }),
  };
}

/** The time of an RFC 3339 date or timestamp, as it is stored. Throws `invalid_request`. */
function expiryOf(text: string): string {
  const time = timestampOf(text);
  if (time !== undefined) return new Date(time).toISOString();
  throw new ServiceError('invalid_request', {
    param: 'expires_at',
    message: 'expires_at must be a timestamp such as 2027-01-01T00:00:00Z.',
  });
}

import type { FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
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
import { defined } from '../../defined.ts';
import { invalidRequest } from '../../errors.ts';
import { parseTimestamp } from '../../time.ts';
import { privateHeaders } from '../response/page.ts';
import { pageParameters, pageResponse, parseLimit, sendPage } from '../response/pagination.ts';
import { responseSchema, strictObject } from '../response/schemas.ts';
import { operation, type Routes, routeFamily } from '../server/operation.ts';
import { apiKey, createBody, createdBy, keyParams as params, rotateBody, shownKey } from './key-schemas.ts';

/**
 * API keys: list, create, rotate, revoke. Only the response that makes a secret contains it.
 *
 * @param now milliseconds since 1970 @param prefix in front of `/v3`
 */
export function keyRoutes(keys: Keys, now: () => number, prefix: string): Routes {
  const path = `${prefix}/v3/keys`;
  const listed = (key: ListedKey) => ({ ...publicKey(key, now()), last_used_at: key.lastUsedAt ?? null });
  const shown = ({ key, text }: ShownKey) => ({ ...publicKey(key, now()), key: text });
  return routeFamily('Administration', [
    operation('GET', path, 'keys:read', {
      id: 'listKeys',
      summary: 'List API keys',
      request: { query: strictObject({ ...pageParameters, created_by: createdBy }) },
      response: pageResponse(
        apiKey,
        'Without secrets, in the order of their creation; `next` if there are more',
      ),
      handle: async ({ query: { limit, after, created_by } }, reply) => {
        const page = await keys.page(parseLimit(limit), after, created_by);
        return sendPage(reply, page.keys.map(listed), page.next);
      },
    }),

    operation('POST', path, 'keys:write', {
      id: 'createKey',
      summary: 'Create an API key',
      description:
        'A key can create only keys that may do no more, and that end no later, than itself. If the response is lost, a ' +
        'repeated request is 409 `key_exists`; rotate the key then. A service without keys makes none over HTTP: the command ' +
        '`counterfoil keys create` makes the first one.',
      request: { body: createBody },
      response: responseSchema(shownKey, 'The key, which is on disk'),
      responseHeaders: privateHeaders,
      handle: async (request) => {
        const { body } = request;
        return shown(await keys.create(requesterFor(request), createRequest(body), body.replaces));
      },
    }),

    operation('POST', `${path}/:key_id/rotate`, 'keys:write', {
      id: 'rotateKey',
      summary: 'Give an API key a new secret',
      description:
        'The present secret stays valid for the overlap. While it does, a further rotation is 409 `rotation_unfinished`.',
      request: { params, body: rotateBody, isBodyOptional: true },
      response: responseSchema(shownKey, 'The key with its new secret'),
      responseHeaders: privateHeaders,
      handle: async (request) => {
        const { overlap_seconds: seconds, ends_previous: endsPrevious = false } = request.body;
        const overlapMs = seconds === undefined ? apiKeyOverlapMsDefault : seconds * 1_000;
        const overlap = { overlapMs, endsPrevious };
        return shown(await keys.rotate(requesterFor(request), request.params.key_id, overlap));
      },
    }),

    operation('DELETE', `${path}/:key_id`, 'keys:write', {
      id: 'revokeKey',
      summary: 'Revoke an API key',
      description: 'A key that is revoked stays as it is. The last valid key with the scope `admin` is 409.',
      request: { params },
      response: responseSchema(apiKey, 'This process rejects the key, and all others do within a second'),
      handle: async (request) => listed(await keys.revoke(requesterFor(request), request.params.key_id)),
    }),
  ]);
}

function requesterFor({ caller, id }: FastifyRequest): KeyRequester {
  return { caller, requestId: id };
}

function createRequest(body: Static<typeof createBody>): CreateKeyRequest {
  const { name, kind = 'secret', tables, routes, origins, expires_at } = body;
  const { scopes = kind === 'publishable' ? publishableScopes : [] } = body;
  const expiresAt = expires_at === undefined ? undefined : parseExpiry(expires_at);
  return {
    kind,
    name,
    // The domain rejects what is no scope.
    scopes: scopes as readonly Scope[],
    ...defined({ tables, routes, origins, expiresAt }),
  };
}

/** An RFC 3339 date or timestamp, as it is stored. Throws `invalid_request`. */
function parseExpiry(text: string): string {
  const time = parseTimestamp(text);
  if (time !== undefined) return new Date(time).toISOString();
  throw invalidRequest('expires_at', 'expires_at must be a timestamp such as 2027-01-01T00:00:00Z.');
}

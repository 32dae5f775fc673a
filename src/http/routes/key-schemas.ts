import { Type } from 'typebox';
import { apiKeyOverlapMsDefault, apiKeyOverlapMsMax } from '../../access/keys/api-key.ts';
import { scopes } from '../../access/scopes.ts';
import { documentedAs, named } from '../response/described.ts';
import { nullable, strictObject, stringEnum, timestamp } from '../response/schemas.ts';

/** Request and response schemas of API keys. */

const limits = (description: string) => nullable(Type.Array(Type.String(), { description }));

export const scope = named(
  'Scope',
  stringEnum(scopes, { description: 'What a key allows; `admin` allows everything' }),
);
const kind = named(
  'ApiKeyKind',
  stringEnum(['secret', 'publishable'], {
    description: '`secret` is for servers; `publishable` for pages, where everybody can read it',
  }),
);
const fields = {
  id: Type.String({ examples: ['0123456789abcdef'] }),
  kind,
  name: Type.String(),
  status: stringEnum(['valid', 'expired', 'revoked']),
  scopes: Type.Array(scope),
  tables: limits('The only tables that the key may use; null for all'),
  routes: limits('The only payment routes that the key may use, each `processor/route`; null for all'),
  origins: limits('Of a publishable key: the origins of the pages that may use it'),
  created_by: nullable(
    Type.String({
      description: '`key:ID`, `administrator:ID` or `cli`; null if it was made before this was recorded',
    }),
  ),
  created_at: timestamp,
  expires_at: nullable(timestamp),
  revoked_at: nullable(timestamp),
  previous_until: nullable(
    Type.String({
      format: 'date-time',
      description: 'Until when the secret before the last rotation is valid; null if there is none',
    }),
  ),
};
export const apiKey = named(
  'ApiKey',
  strictObject({
    ...fields,
    last_used_at: nullable(
      Type.String({ format: 'date-time', description: 'Accurate to some minutes; null if it never was' }),
    ),
  }),
);
export const shownKey = named(
  'ShownApiKey',
  strictObject({
    ...fields,
    key: Type.String({
      description: 'The whole key, with its secret. No later response has it: the service stores its hash',
      examples: ['cfk_0123456789abcdef.…'],
    }),
  }),
);

/** A filter of the list. */
export const createdBy = Type.Optional(
  Type.String({
    maxLength: 100,
    description:
      'Only keys that this key or administrator has created, also through other keys: a `created_by`, or the id in it',
  }),
);

/** The domain checks what each field may be, as for the command. */
export const createBody = named(
  'ApiKeyRequest',
  strictObject(
    {
      name: Type.String({ description: 'A name to recognize the key by; no valid key may have it' }),
      kind: Type.Optional(
        documentedAs(Type.Union([Type.Literal('secret'), Type.Literal('publishable')]), kind),
      ),
      scopes: Type.Optional(
        Type.Array(documentedAs(Type.String(), scope), {
          description: 'Required for a secret key; a publishable one has `payments:create`',
        }),
      ),
      tables: Type.Optional(Type.Array(Type.String(), { description: 'Limits the key to these tables' })),
      routes: Type.Optional(
        Type.Array(Type.String(), {
          description: 'Limits the key to these payment routes, each `processor/route`',
        }),
      ),
      origins: Type.Optional(
        Type.Array(Type.String(), {
          description: 'Required for a publishable key: the origins of the pages that may use it',
        }),
      ),
      expires_at: Type.Optional(documentedAs(Type.String({ description: 'Never without it' }), timestamp)),
      replaces: Type.Optional(
        Type.String({
          description:
            'The id of the key whose idempotency keys it takes over; by default the latest key of the same kind and name',
        }),
      ),
    },
    { examples: [{ name: 'shelf', scopes: ['tables:read', 'tables:write'], tables: ['books'] }] },
  ),
);

export const rotateBody = named(
  'ApiKeyRotation',
  strictObject(
    {
      overlap_seconds: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: apiKeyOverlapMsMax / 1_000,
          default: apiKeyOverlapMsDefault / 1_000,
          description: 'How long the present secret stays valid; 0 ends it now',
        }),
      ),
      ends_previous: Type.Optional(
        Type.Boolean({
          default: false,
          description:
            'Whether to end the previous secret of an earlier rotation now; without it, such a rotation is 409',
        }),
      ),
    },
    { examples: [{ overlap_seconds: 3_600 }] },
  ),
);

export const keyParams = Type.Object({
  key_id: Type.String({ description: 'The id of the key, which the key itself contains: `cfk_ID.…`' }),
});

import { Type } from 'typebox';
import { providerNames } from '../../sign-in/types.ts';
import { documentedAs, named } from '../response/described.ts';
import { enumOf } from '../response/schemas.ts';

export const providerSchema = named(
  'IdentityProvider',
  enumOf(providerNames, { description: 'The identity provider', examples: ['google'] }),
);

/** Path parameters of one integration. An unknown provider is 404. */
export const integrationParams = Type.Object({
  identity_provider: documentedAs(Type.String(), providerSchema),
  INTEGRATION_NAME: Type.String({
    description: 'The name of the integration: 1 to 63 lower-case letters, digits and hyphens',
    examples: ['shop'],
  }),
});

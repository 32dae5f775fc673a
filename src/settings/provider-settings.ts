import { type Static, Type } from 'typebox';
import { isLoopback } from '../addresses.ts';

const closed = { additionalProperties: false };

/** The settings of each service that this one calls; schema.ts explains `env` and `secret`. */
export const providerSettings = {
  stripe: Type.Object(
    {
      key: Type.Optional(
        Type.String({
          env: 'COUNTERFOIL_STRIPE_KEY',
          secret: true,
          pattern: '^(sk|rk)_(test|live)_[A-Za-z0-9]+$',
          description: 'secret or restricted key of the Stripe account',
        }),
      ),
      apiBase: Type.String({
        env: 'COUNTERFOIL_STRIPE_API_BASE',
        default: 'https://api.stripe.com',
        pattern: '^https?://[^/?#]+$',
        description: 'origin of the Stripe API',
      }),
      webhookSecrets: Type.Array(Type.String({ pattern: '^whsec_[A-Za-z0-9+/=]+$' }), {
        env: 'COUNTERFOIL_STRIPE_WEBHOOK_SECRETS',
        secret: true,
        default: [],
        description: 'signing secret of the webhook endpoint; during a rotation several, separated by commas',
      }),
    },
    { ...closed, default: {}, description: 'payments by Stripe' },
  ),
  square: Type.Object(
    {
      accessToken: Type.Optional(
        Type.String({
          env: 'COUNTERFOIL_SQUARE_ACCESS_TOKEN',
          secret: true,
          pattern: '^[A-Za-z0-9_-]+$',
          description: 'access token of the Square application',
        }),
      ),
      apiBase: Type.String({
        env: 'COUNTERFOIL_SQUARE_API_BASE',
        default: 'https://connect.squareup.com',
        pattern: '^https?://[^/?#]+$',
        description: 'origin of the Square API; https://connect.squareupsandbox.com is the sandbox',
      }),
      locationId: Type.Optional(
        Type.String({
          env: 'COUNTERFOIL_SQUARE_LOCATION',
          pattern: '^[A-Za-z0-9]+$',
          description: 'location of the payments; the default is the main location of the account',
        }),
      ),
      webhookKeys: Type.Array(Type.String({ minLength: 1 }), {
        env: 'COUNTERFOIL_SQUARE_WEBHOOK_KEYS',
        secret: true,
        default: [],
        description:
          'signature key of the webhook subscription; during a rotation several, separated by commas',
      }),
      webhookUrl: Type.Optional(
        Type.String({
          env: 'COUNTERFOIL_SQUARE_WEBHOOK_URL',
          pattern: '^https?://[^#]+$',
          description:
            'notification URL of the webhook subscription, exactly as set at Square: it is part of the signature',
        }),
      ),
    },
    { ...closed, default: {}, description: 'payments by Square' },
  ),
  github: Type.Object(
    {
      url: Type.String({
        env: 'COUNTERFOIL_GITHUB_URL',
        default: 'https://github.com',
        pattern: '^https?://[^/?#]+$',
        description: 'origin of GitHub, or of a GitHub Enterprise Server, for sign-in',
      }),
    },
    { ...closed, default: {}, description: 'sign-in by GitHub' },
  ),
  simulated: Type.Object(
    {
      ledger: Type.Optional(
        Type.String({
          env: 'COUNTERFOIL_SIMULATED_LEDGER',
          pattern: '^http://(127\\.0\\.0\\.1|localhost|\\[::1\\]):[0-9]+$',
          description: 'a simulated ledger in a separate process, which survives crash drills of this one',
        }),
      ),
    },
    { ...closed, default: {}, description: 'the simulated processor, which moves no money' },
  ),
};

type ProviderSettings = {
  readonly [Name in keyof typeof providerSettings]: Static<(typeof providerSettings)[Name]>;
};

/** The checks that the schema cannot express. @param simulate whether the command is `serve --simulate` */
export function providerProblems({ stripe, square, github }: ProviderSettings, simulate: boolean): string[] {
  const problems: string[] = [];
  if (simulate && /^.k_live_/.test(stripe.key ?? ''))
    problems.push(
      'stripe.key (COUNTERFOIL_STRIPE_KEY): is a live key, but --simulate reports charges that never happened; ' +
        'use only one of them',
    );
  for (const [name, origin] of [
    ['stripe.apiBase (COUNTERFOIL_STRIPE_API_BASE)', stripe.apiBase],
    ['square.apiBase (COUNTERFOIL_SQUARE_API_BASE)', square.apiBase],
    ['github.url (COUNTERFOIL_GITHUB_URL)', github.url],
  ] as const)
    if (origin.startsWith('http:') && !isLoopback(new URL(origin).hostname))
      problems.push(`${name}: must be https, except on this machine`);
  if (square.webhookKeys.length > 0 && square.webhookUrl === undefined)
    problems.push(
      'square.webhookKeys (COUNTERFOIL_SQUARE_WEBHOOK_KEYS): need square.webhookUrl (COUNTERFOIL_SQUARE_WEBHOOK_URL), ' +
        'which is part of the signature',
    );
  return problems;
}

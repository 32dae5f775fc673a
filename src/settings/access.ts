import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { Type } from 'typebox';
import { isWebOrigin } from '../origins.ts';

/** The settings of who may call, how often, and from where. */
const closed = { additionalProperties: false };

export const accessSettings = {
  trustedProxies: Type.Array(Type.String({ minLength: 1 }), {
    env: 'COUNTERFOIL_TRUSTED_PROXIES',
    default: [],
    description:
      'addresses and networks (10.0.0.0/8) of the proxies in front, whose X-Forwarded-For is believed',
  }),
  corsOrigins: Type.Array(Type.String({ minLength: 1 }), {
    env: 'COUNTERFOIL_CORS_ORIGINS',
    default: [],
    description: 'origins whose pages may read the answers, each to the letter: https://shop.example',
  }),
  privateIssuers: Type.Array(Type.String({ minLength: 1 }), {
    env: 'COUNTERFOIL_PRIVATE_ISSUERS',
    default: [],
    description:
      'hosts and networks (keycloak.internal, 10.0.0.0/8) of identity providers that are not on the public internet; they may be asked over http',
  }),
  privateCa: Type.Optional(
    Type.String({
      env: 'COUNTERFOIL_PRIVATE_CA',
      minLength: 1,
      description: 'path of a PEM file with certificates of a CA that identity providers have theirs from',
    }),
  ),
  challenge: Type.Object(
    {
      url: Type.Optional(
        Type.String({
          env: 'COUNTERFOIL_CHALLENGE_URL',
          pattern: '^https?://[^#]+$',
          description:
            'where challenge tokens of browsers are verified (Turnstile, hCaptcha, reCAPTCHA: their siteverify); with it every charge by a publishable key needs one',
        }),
      ),
      secret: Type.Optional(
        Type.String({
          env: 'COUNTERFOIL_CHALLENGE_SECRET',
          secret: true,
          minLength: 1,
          description: 'secret of the site at the challenge provider',
        }),
      ),
    },
    { ...closed, default: {} },
  ),
  limits: Type.Object(
    {
      charges: Type.Optional(
        Type.Integer({
          env: 'COUNTERFOIL_LIMIT_CHARGES',
          minimum: 0,
          maximum: 1_000_000,
          description: 'charges a minute of one API key, and from one address; 0 is no limit',
        }),
      ),
      declines: Type.Optional(
        Type.Integer({
          env: 'COUNTERFOIL_LIMIT_DECLINES',
          minimum: 0,
          maximum: 1_000_000,
          description:
            'declined cards an hour from one address, and four times as many a day, after which it waits; 0 is no limit',
        }),
      ),
      signIns: Type.Optional(
        Type.Integer({
          env: 'COUNTERFOIL_LIMIT_SIGN_INS',
          minimum: 0,
          maximum: 1_000_000,
          description: 'sign-ins begun a minute from one address; 0 is no limit',
        }),
      ),
      requests: Type.Optional(
        Type.Integer({
          env: 'COUNTERFOIL_LIMIT_REQUESTS',
          minimum: 0,
          maximum: 1_000_000,
          description: 'requests of any kind a second of one API key, and from one address; 0 is no limit',
        }),
      ),
    },
    { ...closed, default: {} },
  ),
};

/** What the schema cannot say of them. */
export function accessProblems({
  trustedProxies,
  corsOrigins,
  privateIssuers,
  privateCa,
}: {
  trustedProxies: string[];
  corsOrigins: string[];
  privateIssuers: string[];
  privateCa?: string | undefined;
}): string[] {
  return [
    ...privateIssuers
      .filter((text) => !isHostOrNetwork(text))
      .map(
        (text) =>
          `privateIssuers (COUNTERFOIL_PRIVATE_ISSUERS): ${text} is no host such as keycloak.internal and no network such as 10.0.0.0/8`,
      ),
    ...(privateCa === undefined || isCertificateFile(privateCa)
      ? []
      : [`privateCa (COUNTERFOIL_PRIVATE_CA): ${privateCa} cannot be read, or holds no PEM certificate`]),
    ...trustedProxies
      .filter((text) => !isNetwork(text))
      .map(
        (text) =>
          `trustedProxies (COUNTERFOIL_TRUSTED_PROXIES): ${text} is no address and no network such as 10.0.0.0/8`,
      ),
    ...corsOrigins
      .filter((text) => !isWebOrigin(text))
      .map(
        (text) =>
          `corsOrigins (COUNTERFOIL_CORS_ORIGINS): ${text} is not an origin such as https://shop.example (http on loopback alone)`,
      ),
  ];
}

const hostName = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i;

function isHostOrNetwork(text: string): boolean {
  if (isNetwork(text)) return true;
  // A name whose last part is a number would be read as an address.
  return text.length <= 253 && hostName.test(text) && !/(^|\.)\d+$/.test(text);
}

function isCertificateFile(file: string): boolean {
  try {
    const certificates = readFileSync(file, 'utf8').match(
      /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g,
    );
    for (const each of certificates ?? []) new X509Certificate(each);
    return certificates !== null;
  } catch {
    return false;
  }
}

function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return (
    bits === undefined ||
    (/^\d{1,3}$/.test(bits) && Number(bits) >= 1 && Number(bits) <= (version === 4 ? 32 : 128))
  );
}

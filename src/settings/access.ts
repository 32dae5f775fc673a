import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { Type } from 'typebox';
import { isWebOrigin, webOrigin } from '../addresses.ts';

/** Settings for who may call, how often, and from where. */
const closed = { additionalProperties: false };

export const accessSettings = {
  trustedProxies: Type.Array(Type.String({ minLength: 1 }), {
    env: 'COUNTERFOIL_TRUSTED_PROXIES',
    default: [],
    description:
      'addresses and networks (10.0.0.0/8) of trusted proxies; the service uses their X-Forwarded-For header',
  }),
  corsOrigins: Type.Array(Type.String({ minLength: 1 }), {
    env: 'COUNTERFOIL_CORS_ORIGINS',
    default: [],
    description: 'origins with pages that may read responses, matched exactly: https://shop.example',
  }),
  privateIssuers: Type.Array(Type.String({ minLength: 1 }), {
    env: 'COUNTERFOIL_PRIVATE_ISSUERS',
    default: [],
    description:
      'hosts and networks (keycloak.internal, 10.0.0.0/8) of identity providers that are not on the public internet; ' +
      'http is allowed for them',
  }),
  privateCa: Type.Optional(
    Type.String({
      env: 'COUNTERFOIL_PRIVATE_CA',
      minLength: 1,
      description: 'path of a PEM file with the certificates of a CA that issues those of identity providers',
    }),
  ),
  challenge: Type.Object(
    {
      url: Type.Optional(
        Type.String({
          env: 'COUNTERFOIL_CHALLENGE_URL',
          pattern: '^https?://[^#]+$',
          description:
            'URL that verifies challenge tokens of browsers (the siteverify of Turnstile, hCaptcha, reCAPTCHA); when set, ' +
            'every charge by a publishable key needs a token',
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
    { ...closed, default: {}, description: 'the challenge that protects charges by publishable keys' },
  ),
  limits: Type.Object(
    {
      charges: Type.Optional(
        Type.Integer({
          env: 'COUNTERFOIL_LIMIT_CHARGES',
          minimum: 0,
          maximum: 1_000_000,
          description: 'charges per minute for one API key, and from one address; 0 means no limit',
        }),
      ),
      declines: Type.Optional(
        Type.Integer({
          env: 'COUNTERFOIL_LIMIT_DECLINES',
          minimum: 0,
          maximum: 1_000_000,
          description:
            'declined or challenged cards per hour from one address, and four times as many per day, before it must wait; 0 means no limit',
        }),
      ),
      signIns: Type.Optional(
        Type.Integer({
          env: 'COUNTERFOIL_LIMIT_SIGN_INS',
          minimum: 0,
          maximum: 1_000_000,
          description: 'sign-ins begun per minute from one address; 0 means no limit',
        }),
      ),
      requests: Type.Optional(
        Type.Integer({
          env: 'COUNTERFOIL_LIMIT_REQUESTS',
          minimum: 0,
          maximum: 1_000_000,
          description:
            'requests of any kind per second for one API key, and from one address; 0 means no limit',
        }),
      ),
    },
    { ...closed, default: {}, description: 'how often callers may call' },
  ),
};

/** The checks that the schema cannot express. */
export function accessProblems({
  trustedProxies,
  corsOrigins,
  privateIssuers,
  privateCa,
  publicUrl,
}: {
  trustedProxies: string[];
  corsOrigins: string[];
  privateIssuers: string[];
  privateCa?: string | undefined;
  publicUrl?: string | undefined;
}): string[] {
  return [
    ...(publicUrl === undefined || isWebOrigin(publicUrl) ? [] : [publicUrlProblem(publicUrl)]),
    ...privateIssuers
      .filter((text) => !isHostOrNetwork(text))
      .map(
        (text) =>
          `privateIssuers (COUNTERFOIL_PRIVATE_ISSUERS): ${text} is not a host such as keycloak.internal ` +
          'or a network such as 10.0.0.0/8',
      ),
    ...(privateCa === undefined || isCertificateFile(privateCa)
      ? []
      : [`privateCa (COUNTERFOIL_PRIVATE_CA): ${privateCa} cannot be read, or contains no PEM certificate`]),
    ...trustedProxies
      .filter((text) => !isNetwork(text))
      .map(
        (text) =>
          `trustedProxies (COUNTERFOIL_TRUSTED_PROXIES): ${text} is not an address or a network such as 10.0.0.0/8`,
      ),
    ...corsOrigins
      .filter((text) => !isWebOrigin(text))
      .map(
        (text) =>
          `corsOrigins (COUNTERFOIL_CORS_ORIGINS): ${text} is not an origin such as https://shop.example ` +
          '(http is allowed only on loopback)',
      ),
  ];
}

/** Browsers send their own spelling of the origin, and it is compared character by character. */
function publicUrlProblem(text: string): string {
  const name = 'publicUrl (COUNTERFOIL_PUBLIC_URL)';
  const spelled = URL.canParse(text) ? webOrigin(new URL(text)) : undefined;
  return spelled === undefined
    ? `${name}: ${text} must be https, except on this machine`
    : `${name}: write it as browsers do, ${spelled}`;
}

const hostName = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i;

function isHostOrNetwork(text: string): boolean {
  if (isNetwork(text)) return true;
  // A name that ends with a number would be parsed as an address.
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

import { type Configuration, fetchUserInfo, skipSubjectCheck } from 'openid-client';
import { defined } from '../defined.ts';
import { profileClaimCharactersMax } from './limits.ts';
import { type ProvenIdentity, ProviderFailure } from './provider.ts';

/**
 * The profile claims of a user (OpenID Connect Core 1.0, 5.1). They are only displayed, so malformed claims are dropped and
 * the sign-in continues.
 */
export function readProfile(claims: Readonly<Record<string, unknown>>): Profile {
  const email = displayableText(claims.email);
  const isVerified = claims.email_verified;
  const picture = displayableText(claims.picture);
  return defined({
    name: displayableText(claims.name),
    email,
    emailVerified: email !== undefined && typeof isVerified === 'boolean' ? isVerified : undefined,
    // Apps put it into a page, so only https is safe.
    picture: picture?.startsWith('https://') ? picture : undefined,
  });
}

type Profile = Omit<ProvenIdentity, 'issuer' | 'subject'>;

function displayableText(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '' || value.length > profileClaimCharactersMax) return undefined;
  return value.isWellFormed() ? value : undefined;
}

/** What a request to userinfo needs. */
interface UserinfoAccess {
  readonly configuration: Configuration;
  readonly accessToken: string;
}

/** The identity of an ID token with the claims that only userinfo has, if the provider has one and it is needed. */
export async function withUserinfo(
  identity: ProvenIdentity,
  scopes: readonly string[],
  access: UserinfoAccess,
): Promise<ProvenIdentity> {
  const { userinfo_endpoint: endpoint } = access.configuration.serverMetadata();
  if (endpoint === undefined || isWhole(identity, scopes)) return identity;
  return withProfile(identity, await profileAtUserinfo(access, identity));
}

/** Whether the ID token already has all requested claims, so that userinfo is not needed. */
function isWhole({ name, email }: ProvenIdentity, scopes: readonly string[]): boolean {
  const lacksName = name === undefined && scopes.includes('profile');
  const lacksEmail = email === undefined && scopes.includes('email');
  return !lacksName && !lacksEmail;
}

/**
 * The profile at userinfo. Empty if userinfo fails or names no subject: the ID token has proven the user, and a profile is only
 * displayed. Another subject means that the tokens were exchanged (OpenID Connect Core 1.0, 5.3.2), so the sign-in fails.
 */
async function profileAtUserinfo(
  { configuration, accessToken }: UserinfoAccess,
  { subject }: ProvenIdentity,
): Promise<Profile> {
  const userinfo = await fetchUserInfo(configuration, accessToken, skipSubjectCheck).catch(() => undefined);
  if (userinfo === undefined) return {};
  if (userinfo.sub !== subject) throw new ProviderFailure('untrusted', 'userinfo_sub');
  return readProfile(userinfo);
}

/** Adds the claims that the ID token lacks. An e-mail address and its verified flag come from the same source. */
function withProfile(identity: ProvenIdentity, userinfo: Profile): ProvenIdentity {
  const { email: _email, emailVerified: _verified, ...rest } = userinfo;
  return { ...(identity.email === undefined ? userinfo : rest), ...identity };
}

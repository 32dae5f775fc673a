/** Bounds of sign-in: each with its unit at the end of its name, and the reason for its value. */

export const integrationNameCharactersMax = 63;
/** Client ids and secrets of the four providers are under 256 characters; the bound leaves room. */
export const clientCredentialCharactersMax = 1_024;
export const issuerCharactersMax = 1_024;
/** Addresses that an app may be sent back to: staging, previews and a few origins; all lie in one record. */
export const returnUrlsMax = 50;
export const returnUrlCharactersMax = 1_024;
/** Scopes beyond these are for reading a provider's data, which the service never does. */
export const scopesMax = 20;
export const scopeCharactersMax = 255;
/** Integrations of one page of a list. */
export const integrationsPageMax = 100;
/** Long enough to find a password and a second factor, as the contract has it. */
export const signInMsMax = 10 * 60 * 1_000;
/** An authorization code is some hundred characters at the longest of the providers (Microsoft). */
export const callbackCharactersMax = 8 * 1024;
/** A sign-out does not wait longer for the provider to say where to sign out there. */
export const signOutUrlMsMax = 2_000;
/** An end of access that was begun so long ago, and is not complete, was begun by a process that has died. */
export const endingRecoveryMs = 60 * 1_000;
/** Browsers in which one person is signed in; the oldest session ends. */
export const sessionsPerUserMax = 100;
/** Apps in which one person is signed in; the oldest tokens end. */
export const refreshFamiliesPerUserMax = 200;
/** Users and sessions of one page, at most. */
export const peoplePageMax = 100;
/** Whoever is away longer signs in again. */
export const sessionIdleMsMax = 7 * 24 * 60 * 60 * 1_000;
/** Nobody stays signed in for ever. */
export const sessionMsMax = 30 * 24 * 60 * 60 * 1_000;
/** How exactly the service knows when a session was last used: a look-up costs a commit at most so often. */
export const sessionSeenStepMs = 5 * 60 * 1_000;
/** Sessions kept in memory for whoever asks again: with their answers some megabytes. */
export const sessionsKeptMax = 5_000;
/** RFC 6749, 4.1.2, recommends at most ten minutes for a code; an app exchanges it as soon as it is called. */
export const signInCodeMs = 60 * 1_000;
/** What a stolen access token is good for: nobody asks the service about one. */
export const accessTokenMs = 10 * 60 * 1_000;
/** After so long a person signs in again, however often the app has come. */
export const refreshTokenMsMax = 30 * 24 * 60 * 60 * 1_000;
/** An app that has not come for so long is not used. */
export const refreshTokenIdleMsMax = 7 * 24 * 60 * 60 * 1_000;
/** An app whose answer was lost sends the same refresh token again, within one time-out. */
export const refreshRepeatMsMax = 10 * 1_000;
/** How long one key signs access tokens. */
export const signingKeyMs = 30 * 24 * 60 * 60 * 1_000;
/** A key is published so long before it signs: longer than anybody caches the set of keys. */
export const signingKeyAnnouncedMs = 24 * 60 * 60 * 1_000;
/** A key is published so long after it has signed last: a token's life, and clocks that differ. */
export const signingKeyKeptMs = accessTokenMs + 5 * 60 * 1_000;
/** How long a process goes without asking the store which keys there are; a new one signs a day later. */
export const signingKeysCachedMs = 60 * 1_000;

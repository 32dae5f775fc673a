/** Limits of sign-in. Each name ends with its unit; each comment gives the reason for the value. */

export const integrationNameCharactersMax = 63;
/** Client ids and secrets of the four providers are under 256 characters; the bound leaves room. */
export const clientCredentialCharactersMax = 1_024;
export const issuerCharactersMax = 1_024;
/** Room for production, staging, previews and a few further origins. One record stores them all. */
export const returnUrlsMax = 50;
export const returnUrlCharactersMax = 1_024;
/** More scopes would only serve to read a provider's data, which the service never does. */
export const scopesMax = 20;
export const scopeCharactersMax = 255;
/** Integrations on one page of a list. */
export const integrationsPageMax = 100;
/** The documented time: ten minutes are enough to find a password and a second factor. */
export const signInMsMax = 10 * 60 * 1_000;
/** The longest authorization codes (Microsoft) have some hundred characters. */
export const callbackCharactersMax = 8 * 1024;
/** How long a sign-out waits for the provider's sign-out address. */
export const signOutUrlMsMax = 2_000;
/** If an ending of access is incomplete after this time, the process that began it has died. */
export const endingRecoveryMs = 60 * 1_000;
/** How long an ending of access is remembered for sign-ins under way: twice the longest sign-in, like used states. */
export const endingsRememberedMs = 2 * signInMsMax;
/**
 * Endings that are remembered separately for one user, or for one session at a provider; people sign out only a few
 * times.
 */
export const endingsRememberedMax = 16;
/** Sessions per user, one for each browser. Above this number, the oldest session ends. */
export const sessionsPerUserMax = 100;
/** Refresh token families per user, one for each app. Above this number, the oldest tokens end. */
export const refreshFamiliesPerUserMax = 200;
/** Users or sessions on one page of a list. */
export const peoplePageMax = 100;
/** After this time without a request, the user signs in again. */
export const sessionIdleMsMax = 7 * 24 * 60 * 60 * 1_000;
/** No session lasts longer, even if it is used all the time. */
export const sessionMsMax = 30 * 24 * 60 * 60 * 1_000;
/** The resolution of the last-seen time: a look-up writes at most this often. */
export const sessionSeenStepMs = 5 * 60 * 1_000;
/** Sessions cached in memory: some megabytes, with their responses. */
export const sessionsCachedMax = 5_000;
/** How long the proof of a sign-in to the console is valid: its page exchanges it as soon as it is loaded. */
export const consoleProofMs = 60 * 1_000;
/** RFC 6749, 4.1.2, recommends at most ten minutes for a code; an app exchanges it at once. */
export const signInCodeMs = 60 * 1_000;
/**
 * How long a repeated exchange of a code returns the same tokens. A page that sends it twice at once, or lost the
 * response, repeats it within one time-out. The time is the same as for a refresh token.
 */
export const exchangeRepeatMsMax = 10 * 1_000;
/** How long a stolen access token works: apps verify tokens without calling the service. */
export const accessTokenMs = 10 * 60 * 1_000;
/** After this time the user signs in again, even if the app has always refreshed its tokens. */
export const refreshTokenMsMax = 30 * 24 * 60 * 60 * 1_000;
/** An app that has not refreshed its tokens for this time is not in use. */
export const refreshTokenIdleMsMax = 7 * 24 * 60 * 60 * 1_000;
/**
 * How long a repeated refresh returns the same tokens. An app that lost the response repeats it within one time-out.
 */
export const refreshRepeatMsMax = 10 * 1_000;
/** How long one key signs access tokens. */
export const signingKeyMs = 30 * 24 * 60 * 60 * 1_000;
/** How long a key is published before it signs. No app caches the key set for longer. */
export const signingKeyAnnouncedMs = 24 * 60 * 60 * 1_000;
/** How long a key is published after its last signature: the life of a token, plus clock differences. */
export const signingKeyPublishedMs = accessTokenMs + 5 * 60 * 1_000;
/** How long a process caches the keys. This is safe, because a new key signs only a day later. */
export const signingKeysCachedMs = 60 * 1_000;

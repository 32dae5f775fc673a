/** Limits of identity providers. Each name ends with its unit; each comment gives the reason for the value. */

/** If a provider takes longer to respond, the user has given up. */
export const outboundMsMax = 5_000;
/** Discovery documents and key sets are a few KB; the largest known ones are under 100 KB. */
export const outboundResponseBytesMax = 1024 * 1024;
/** The metadata of a provider changes rarely, within months; an hour old is fresh enough. */
export const discoveryAgeMsMax = 60 * 60 * 1_000;
/** After a failed discovery, sign-ins within this time fail without another request. */
export const discoveryFailureMsMax = 5_000;
/** For the metadata of all providers together. */
export const providersCachedBytesMax = 16 * 1024 * 1024;
/** Providers allow caching their keys for hours, but a withdrawn key must become invalid sooner. */
export const providerKeysAgeMsMax = 10 * 60 * 1_000;
/** An unknown key id causes a request at once, but no more often than this: false key ids must not cause a flood. */
export const providerKeysPauseMs = 5_000;
/** Providers cached at once: some ten megabytes, with their keys. */
export const providersCachedMax = 1_000;
/** A longer name, e-mail address or picture is dropped. */
export const profileClaimCharactersMax = 1_024;
/** The clocks of good providers are right to the second. */
export const clockToleranceSeconds = 30;
/**
 * How old an ID token or a logout token may be, whatever its `exp` says. ID tokens are issued in the exchange, and logout tokens
 * live minutes; a day leaves room for a provider that delivers a logout late, and bounds how long its id is stored.
 */
export const tokenAgeSecondsMax = 24 * 60 * 60;

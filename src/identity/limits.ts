/** Bounds of identity: each with its unit at the end of its name, and the reason for its value. */

/** A provider that takes longer to answer has lost the person who waits. */
export const outboundMsMax = 5_000;
/** Discovery documents and key sets are a few KB; the largest known ones are under 100 KB. */
export const outboundResponseBytesMax = 1024 * 1024;
/** What a provider says of itself changes by the month; an hour old is fresh enough. */
export const discoveryAgeMsMax = 60 * 60 * 1_000;
/** A provider that could not be asked is asked again soon; many who begin meanwhile make no further request. */
export const discoveryFailureMsMax = 5_000;
/** Of the documents of all providers together. */
export const providersKeptBytesMax = 16 * 1024 * 1024;
/** Its keys are told to be cached for hours, and withdrawn ones must go. */
export const providerKeysAgeMsMax = 10 * 60 * 1_000;
/** A key that is not known is looked for at once, but not more often: forged key ids must not make us a flood. */
export const providerKeysPauseMs = 5_000;
/** Providers remembered at once: with their keys some ten megabytes. */
export const providersKeptMax = 1_000;
/** A name, address or picture longer than this is none. */
export const profileClaimCharactersMax = 1_024;
/** Clocks of good providers are right to the second. */
export const clockToleranceSeconds = 30;

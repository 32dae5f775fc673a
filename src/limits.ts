/** Bounds of the files at the root. Each name ends with its unit; each comment gives the reason for the value. */

/** Deep enough for every accepted document, and far from the recursion limit of any parser. */
export const jsonDepthMax = 32;
/** Fields and array elements of one body. The largest accepted document, a batch of 100 writes, has about 500. */
export const jsonMembersMax = 5_000;
/** A double represents every decimal number of up to 15 significant digits; the parser may change one of 16. */
export const numberSignificantDigitsMax = 15;

/** A rate limit, and how much of it one caller has left. */
export interface LimitState {
  readonly name: string;
  /** Requests that are allowed within `windowMs`. */
  readonly quota: number;
  readonly windowMs: number;
  readonly left: number;
  /** Milliseconds until the whole quota is left. */
  readonly fullInMs: number;
}

/** Bounds of app: each with its unit at the end of its name, and the reason for its value. */

/** How often the service looks for charges in doubt whose lease has ended. */
export const recoveryIntervalMs = 1_000;
/** How often states and logout tokens that have expired are removed. */
export const oneTimeIdSweepMs = 60 * 1_000;
/** How often sessions that have ended by themselves are removed; nothing depends on it but the disk. */
export const sessionSweepMs = 60 * 60 * 1_000;
/** How often codes and refresh tokens that have expired are removed; they are refused all the same. */
export const tokenSweepIntervalMs = 10 * 60 * 1_000;
/** How old the counts of other processes may be on an engine that charges for each look. */
export const distantDeclinesCachedMs = 10_000;
/** How often addresses that may have cards declined again are forgotten. */
export const declinesSweepMs = 60 * 60 * 1_000;
/** Whoever asks whether the service is ready gives up after some seconds, and so must not hear first from a slow store. */
export const readyMsMax = 2_000;
/** Recovery looks for open charges this often on an engine that charges for each look. */
export const distantRecoveryIntervalMs = 5_000;

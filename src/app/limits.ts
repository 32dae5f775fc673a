/** Limits of the app: each has its unit at the end of its name, and the reason for its value. */

/** How long a start is retried while something that it needs cannot be reached: a late network is there by then. */
export const startRetryMsMax = 60_000;
/** The pause between these attempts. */
export const startRetryPauseMs = 1_000;
/** How often recovery looks for open charges and refunds that are due. */
export const recoveryIntervalMs = 1_000;
/** How often expired states and logout tokens, and endings of access that are older than any sign-in, are removed. */
export const oneTimeIdSweepMs = 60 * 1_000;
/** How often expired sessions are removed, only to save disk space. */
export const sessionSweepMs = 60 * 60 * 1_000;
/** How often expired refresh tokens and signing keys are removed; they are rejected in any case. */
export const tokenSweepIntervalMs = 10 * 60 * 1_000;
/** How old the counts of other processes may be on an engine that bills each read. */
export const distantDeclinesCachedMs = 10_000;
/** How often addresses with a full allowance of declines are removed. */
export const declinesSweepMs = 60 * 60 * 1_000;
/** Readiness probes time out after some seconds, so a slow store must fail the check earlier. */
export const readyMsMax = 2_000;
/** How often recovery looks for open charges and refunds on an engine that bills each read. */
export const distantRecoveryIntervalMs = 5_000;
/** How often the process that makes backups checks the schedule, and the others check whether that process still lives. */
export const backupLookMs = 10_000;
/** The pause after a backup that failed, and before the thread that makes them starts again. */
export const backupRetryMs = 5 * 60 * 1_000;
/** How long a stopping service sends its last commits to the target. The next start sends the rest. */
export const lastArchivingMsMax = 3_000;
/** How long a stopping service waits for the thread that makes backups. */
export const agentStopMsMax = 5_000;
/** How long a stopping service waits for the end of that thread after terminating it. */
export const agentEndMsMax = 1_000;
/** The `nice` value of a process that makes a backup: requests come first. */
export const backupPriority = 19;
/** How long a request waits for the list of a target: a bucket with the segments of a month is listed in seconds. */
export const backupListMsMax = 10_000;
/** The newest backups in that list: more than anybody reads, and each costs a request to a bucket. */
export const backupsShownMax = 100;
/** The pause between log lines about a target that cannot be reached. */
export const failureLogMs = 60 * 1_000;
/** A build of the console takes two seconds; a machine under load may need many times as long. */
export const consoleBuildMsMax = 120_000;

/** The clocks of two machines differ by less. */
export const clockSlackMs = 5 * 60_000;
/** A scheduled backup counts as missing when it is this late: a backup of a large store takes minutes. */
export const backupLateMs = 60 * 60 * 1_000;
/** A master key that seals for longer should be rotated: NIST SP 800-57 part 1 (5.3.6) gives a key-wrapping key two years. */
export const masterKeyAgeMsMax = 2 * 365 * 24 * 60 * 60 * 1_000;
/** A check of the running service that takes longer is a problem. The slowest one, of a backup target, may take that long. */
export const doctorCheckMsMax = 15_000;

import { type Repeated, repeat } from '../lifecycle.ts';
import type { Log } from '../log.ts';
import type { Settings } from '../settings/schema.ts';
import { endingRecoveryMs, exchangeRepeatMsMax } from '../sign-in/limits.ts';
import type { Access } from './access.ts';
import type { Domains } from './domains.ts';
import {
  declinesSweepMs,
  distantRecoveryIntervalMs,
  oneTimeIdSweepMs,
  recoveryIntervalMs,
  sessionSweepMs,
  tokenSweepIntervalMs,
} from './limits.ts';

/** Starts what every process does in the background: it recovers what dead processes left, and removes what has expired. */
export function startJobs(
  { store }: Settings,
  { payments, signIn }: Domains,
  { cardTesting, console }: Access,
  log: Log,
): readonly Repeated[] {
  const recoveryMs = store === 'lmdb' ? recoveryIntervalMs : distantRecoveryIntervalMs;
  return [
    repeat(recoveryMs, (signal) => payments.recover(signal), log),
    repeat(oneTimeIdSweepMs, (signal) => signIn.sweepOneTimeIds(signal), log),
    repeat(oneTimeIdSweepMs, (signal) => signIn.people.sweepEndings(signal), log),
    repeat(sessionSweepMs, (signal) => signIn.people.sweepSessions(signal), log),
    repeat(endingRecoveryMs, (signal) => signIn.people.recoverEndings(signal), log),
    repeat(tokenSweepIntervalMs, (signal) => signIn.sweepTokens(signal), log),
    repeat(exchangeRepeatMsMax, () => signIn.sweepCodes(), log),
    repeat(declinesSweepMs, (signal) => cardTesting.sweep(signal), log),
    ...(console === undefined
      ? []
      : [repeat(sessionSweepMs, (signal) => console.sessions.sweep(signal), log)]),
  ];
}

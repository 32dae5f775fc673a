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
    repeat(oneTimeIdSweepMs, (signal) => signIn.oneTimeIds.sweep(signal), log),
    repeat(oneTimeIdSweepMs, (signal) => signIn.accessEnding.recent.sweep(signal), log),
    repeat(sessionSweepMs, (signal) => signIn.sessions.sweep(signal), log),
    repeat(endingRecoveryMs, (signal) => signIn.accessEnding.recover(signal), log),
    repeat(tokenSweepIntervalMs, () => signIn.appTokens.sweep(), log),
    repeat(exchangeRepeatMsMax, () => signIn.appTokens.sweepCodes(), log),
    repeat(declinesSweepMs, (signal) => cardTesting.sweep(signal), log),
    ...(console === undefined ? [] : [repeat(sessionSweepMs, () => console.sessions.sweep(), log)]),
  ];
}

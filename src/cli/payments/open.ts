import { openOfflinePayments } from '../../app/offline.ts';
import type { Payments } from '../../payments/payments.ts';
import { withOpened } from '../command.ts';

/** Opens the payments of the settings for the work of a command. Throws SettingsError. */
export function withPayments<Result>(work: (payments: Payments) => Promise<Result>): Promise<Result> {
  return withOpened(openOfflinePayments, ({ payments }) => work(payments));
}

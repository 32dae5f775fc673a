import { authenticate, decideProcessing, othersCharge } from './charging.ts';
import type { StripeLedger, Switches } from './ledger.ts';
import type { Refund } from './objects.ts';
import { settleRefund } from './refunding.ts';

/** A command of a test to a scripted Stripe, in this process or in another one. */
export interface Command {
  readonly set?: Partial<Switches>;
  readonly repair?: true;
  /** Makes so many charges of another system on the same account. */
  readonly othersCharge?: number;
  readonly authenticate?: { readonly id: string; readonly isCardholder: boolean };
  readonly settleRefund?: { readonly id: string; readonly status: Refund['status'] };
}

export function carryOut(ledger: StripeLedger, command: Command): void {
  if (command.set !== undefined) ledger.set(command.set);
  if (command.othersCharge !== undefined) othersCharge(ledger, command.othersCharge);
  if (command.authenticate !== undefined)
    authenticate(ledger, command.authenticate.id, command.authenticate.isCardholder);
  if (command.settleRefund !== undefined) {
    settleRefund(ledger, command.settleRefund.id, command.settleRefund.status);
  }
  if (command.repair) {
    ledger.set({ isRepaired: true, turnsAway: false, holds: false });
    decideProcessing(ledger);
  }
  ledger.write();
}

import type { Command } from 'commander';
import { storedChargeStates } from '../payments/types.ts';
import { processorNames } from '../processors/processor.ts';
import { describe, oneOf, subcommand } from './command.ts';
import { amount, moment, wholeNumber } from './option-values.ts';

/** Payments that `payments list` prints without `--limit`: a few screens. */
const paymentsListedDefault = 100;

const paymentArgument = ['<payment>', 'the id of a payment, pay_…'] as const;
const timeForm = '2026-11-21 or 2026-11-21T10:00:00Z';

/** `counterfoil payments`: works while the service is running. Each action loads what it needs of the domain. */
export function definePayments(command: Command): void {
  describe(command, {
    description: 'Payments, their refunds, and the records of the processors.',
    examples: ['payments list', 'payments list --help'],
    json: 'none',
  });
  defineList(command);
  defineShow(command);
  defineRefund(command);
  defineCancel(command);
  defineResolve(command);
  defineReconcile(command);
}

function defineList(command: Command): void {
  subcommand(command, 'list', {
    description: 'List payments in the order in which they were made.',
    examples: ['payments list --status needs_review', 'payments list --since 2026-11-01 --limit 1000 --json'],
    json: 'lines',
  })
    .option('--since <time>', `from this time on: ${timeForm}; by default a day ago`, moment('--since'))
    .addOption(oneOf('--status <status>', 'only of this status', storedChargeStates))
    .addOption(oneOf('--processor <name>', 'only of this processor', processorNames))
    .option('--limit <count>', 'at most this many', wholeNumber('--limit'), paymentsListedDefault)
    .action(async (options) => (await import('./payments/actions.ts')).list(options));
}

function defineShow(command: Command): void {
  subcommand(command, 'show', {
    description: 'Show one payment.',
    examples: ['payments show pay_…', 'payments show pay_… --json'],
  })
    .argument(...paymentArgument)
    .action(async (id, options) => (await import('./payments/actions.ts')).show(id, options));
}

function defineRefund(command: Command): void {
  subcommand(command, 'refund', {
    description: 'Refund all that is left of a payment, or a part of it.',
    examples: ['payments refund pay_… --key return-17', 'payments refund pay_… --amount 500 --key return-18'],
  })
    .argument(...paymentArgument)
    .option('--amount <amount>', 'only this amount, in the unit of its route', amount('--amount'))
    .option('--key <key>', 'an idempotency key: the same key refunds once')
    .action(async (id, options) => (await import('./payments/actions.ts')).refund(id, options));
}

function defineCancel(command: Command): void {
  subcommand(command, 'cancel', {
    description: 'Cancel a charge in doubt, unless it was made. Exits with 1 if it is not canceled.',
    examples: ['payments cancel pay_…'],
  })
    .argument(...paymentArgument)
    .action(async (id, options) => (await import('./payments/actions.ts')).cancel(id, options));
}

function defineResolve(command: Command): void {
  subcommand(command, 'resolve', {
    description:
      "End a charge that needs review, by --succeeded or --declined, which must agree with the processor's records.",
    examples: ['payments resolve pay_… --succeeded ch_…', 'payments resolve pay_… --declined'],
  })
    .argument(...paymentArgument)
    .option('--succeeded <charge>', 'it was made, and this is its id at the processor')
    .option('--declined', 'it was not made')
    .action(async (id, options) => (await import('./payments/actions.ts')).resolve(id, options));
}

function defineReconcile(command: Command): void {
  subcommand(command, 'reconcile', {
    description:
      'Compare our records with those of a processor. Exits with 1 if anything differs. After a restore, --adopt takes over what ' +
      'the store lacks from the records of every processor, and opens payments.',
    examples: [
      'payments reconcile stripe',
      'payments reconcile --adopt',
      'payments reconcile square --from 2026-11-01 --until 2026-12-01',
    ],
  })
    .addArgument(
      command.createArgument('[processor]', 'the processor; all with --adopt').choices([...processorNames]),
    )
    .option(
      '--from <time>',
      `the beginning of the period; by default a day before its end; with --adopt 90 days before the backup`,
      moment('--from'),
    )
    .option('--until <time>', 'the end of the period; by default now', moment('--until'))
    .option('--adopt', 'after a restore: take over charges and refunds, and open payments again')
    .option(
      '--accept-unknown-keys',
      'with --adopt: open payments although a repeated request may be charged again',
    )
    .option(
      '--new-account <account...>',
      'with --adopt: the service began to charge with this account after the backup: stripe/acct_1/live',
    )
    .option(
      '--without-account <account...>',
      'with --adopt: open payments without the records of this account, and keep them shut for it',
    )
    .option(
      '--without-processors',
      'with --adopt: open payments without any records, for a service that takes none',
    )
    .action(async (name, options) => {
      if (options.adopt) await (await import('./payments/reconcile.ts')).adopt(name, options);
      else await (await import('./payments/reconcile.ts')).reconcileWith(name, options);
    });
}

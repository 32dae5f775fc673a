import type { Command } from 'commander';
import { type AuditEntry, publicAct } from '../audit/audit.ts';
import { describe, type JsonOption, subcommand, withOpened } from './command.ts';
import { moment } from './option-values.ts';
import { printListing } from './output/print.ts';
import type { Column } from './output/table.ts';

const columns: readonly Column<AuditEntry>[] = [
  { title: 'TIME', cell: ({ at }) => at },
  { title: 'ACT', cell: ({ what }) => what },
  { title: 'ON', cell: ({ on }) => on },
  { title: 'BY', cell: actorText },
  { title: 'REQUEST', cell: ({ requestId }) => requestId },
];

/** Issuer and subject identify an administrator; the name is for people. */
function actorText({ by, administrator }: AuditEntry): string {
  if (administrator === undefined) return by;
  const { issuer, subject, name } = administrator;
  return [by, ...(name === undefined ? [] : [name]), issuer, subject].join(' ');
}

/** `counterfoil audit`: works while the service is running. */
export function defineAudit(command: Command): void {
  describe(command, {
    description: 'The audit trail, which is kept for ever.',
    examples: ['audit list', 'audit list --help'],
    json: 'none',
  });
  subcommand(command, 'list', {
    description: 'List what administrators have done, the oldest act first.',
    examples: ['audit list', 'audit list --since 2026-11-21 --json'],
    json: 'lines',
  })
    .option('--since <time>', 'from this time on: 2026-11-21 or 2026-11-21T10:00:00Z', moment('--since'))
    .action(list);
}

async function list({ since, json }: JsonOption & { readonly since?: number }): Promise<void> {
  const { openOfflineAccess } = await import('../app/access.ts');
  await withOpened(
    (settings) => openOfflineAccess(settings, false),
    (access) => printListing(access.trail(since), { json, columns, toJson: publicAct, none: 'No acts.' }),
  );
}

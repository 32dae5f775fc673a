import { parseArgs } from 'node:util';
import type { AuditEntry } from '../access/audit.ts';
import { openOfflineAccess } from '../app/access.ts';
import { runSubcommand, withOpened } from './command.ts';
import { moment } from './timestamps.ts';

const usage = `Usage: counterfoil audit list

  list              print what administrators have done, the oldest first
    --since TIME      from this time on: 2026-11-21 or 2026-11-21T10:00:00Z
    --json            one JSON object a line

The command works while the service is running.
`;

/** `counterfoil audit`: exits with 0, or with 2 if it could not run. */
export async function audit(args: readonly string[]): Promise<void> {
  await runSubcommand(usage, { list }, args);
}

async function list(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: { since: { type: 'string' }, json: { type: 'boolean', default: false } },
  });
  const since = values.since === undefined ? 0 : moment('--since', values.since);
  await withOpened(
    (settings) => openOfflineAccess(settings, false),
    async (access) => {
      for await (const entry of access.trail(since))
        process.stdout.write(`${values.json ? JSON.stringify(entry) : lineOf(entry)}\n`);
    },
  );
}

function lineOf({ at, what, on, by, requestId }: AuditEntry): string {
  return [at, what.padEnd(22), on, `by ${by}`, ...(requestId === undefined ? [] : [requestId])].join('  ');
}

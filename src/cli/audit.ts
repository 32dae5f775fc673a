import { parseArgs } from 'node:util';
import type { AuditEntry } from '../access/audit.ts';
import { openOfflineAccess } from '../app/access.ts';
import { loadSettings } from '../settings/load.ts';
import { reportProblems } from './problems.ts';
import { moment } from './timestamps.ts';

const usage = `Usage: counterfoil audit list

  list              print what administrators have done, the oldest first
    --since TIME      from this time on: 2026-11-21 or 2026-11-21T10:00:00Z
    --json            one JSON object a line

The command works while the service is running.
`;

/** `counterfoil audit`: exits with 0, or with 2 if it could not run. */
export async function audit(args: readonly string[]): Promise<void> {
  const [command, ...rest] = args;
  try {
    if (command === 'list') await list(rest);
    else {
      process[command === 'help' || command === undefined ? 'stdout' : 'stderr'].write(usage);
      if (command !== 'help' && command !== undefined) process.exitCode = 2;
    }
  } catch (error) {
    reportProblems(error);
  }
}

async function list(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: { since: { type: 'string' }, json: { type: 'boolean', default: false } },
  });
  const since = values.since === undefined ? 0 : moment('--since', values.since);
  const settings = loadSettings({ env: process.env, file: 'counterfoil.json', simulate: false });
  const access = await openOfflineAccess(settings, false);
  try {
    for await (const entry of access.trail(since)) {
      process.stdout.write(`${values.json ? JSON.stringify(entry) : lineOf(entry)}\n`);
    }
  } finally {
    await access.close();
  }
}

function lineOf({ at, what, on, by, requestId }: AuditEntry): string {
  return [at, what.padEnd(22), on, `by ${by}`, ...(requestId === undefined ? [] : [requestId])].join('  ');
}

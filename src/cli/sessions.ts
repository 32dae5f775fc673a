import { parseArgs } from 'node:util';
import { openPeople } from '../app/offline/people.ts';
import { SettingsError } from '../errors.ts';
import { isUserKey } from '../sign-in/identity.ts';
import { peoplePageMax } from '../sign-in/limits.ts';
import { publicSession } from '../sign-in/public-people.ts';
import type { Session } from '../sign-in/session.ts';
import type { SessionFilter } from '../sign-in/session-filter.ts';
import { runSubcommand, withOpened } from './command.ts';
import { duration } from './timestamps.ts';

const usage = `Usage: counterfoil sessions <command>

  list                     print who is signed in
    --json                   one JSON object a line
  end                      end sessions and their tokens; needs at least one of these conditions:
    --user ID                only sessions of this user
    --integration PLACE      only sign-ins by this integration, such as google/web
    --older-than DURATION    only sessions that began longer ago: 30m, 24h or 90d

The command list accepts the same conditions. These commands work while the service is running.
`;

const conditions = {
  user: { type: 'string' },
  integration: { type: 'string' },
  'older-than': { type: 'string' },
} as const;

/** `counterfoil sessions`: exits with 0, or with 2 if it could not run. */
export async function sessions(args: readonly string[]): Promise<void> {
  await runSubcommand(usage, { list, end }, args);
}

async function list(args: readonly string[]): Promise<void> {
  const options = { ...conditions, json: { type: 'boolean', default: false } } as const;
  const { values } = parseArgs({ args: [...args], options });
  const filter = filterOf(values);
  await withOpened(openPeople, async (people) => {
    let after: string | undefined;
    do {
      const page = await people.sessions.list(filter, peoplePageMax, after);
      for (const session of page.sessions)
        process.stdout.write(`${values.json ? JSON.stringify(publicSession(session)) : lineOf(session)}\n`);
      after = page.next;
    } while (after !== undefined);
  });
}

async function end(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: conditions });
  const filter = filterOf(values);
  if (Object.keys(filter).length === 0)
    throw new SettingsError(['name the sessions to end: --user, --integration or --older-than']);
  const on = Object.entries(values).map(([name, value]) => `${name.replaceAll('-', '_')}=${value}`);
  const act = { what: 'sessions.ended', on: on.join(' '), by: 'cli' } as const;
  const ended = await withOpened(openPeople, (people) => people.accessEnding.end({ filter, act }));
  process.stdout.write(`${ended} ${ended === 1 ? 'session has' : 'sessions have'} ended\n`);
}

type Values = { readonly [Name in keyof typeof conditions]?: string | undefined };

function filterOf({ user, integration, 'older-than': olderThan }: Values): SessionFilter {
  if (integration !== undefined && !/^[a-z]+\/[a-z0-9-]+$/.test(integration))
    throw new SettingsError(['--integration: must be a provider and a name, such as google/web']);
  if (user !== undefined && !isUserKey(user))
    throw new SettingsError(['--user: must be the id of a user; "users list" shows it']);
  return {
    ...(user === undefined ? {} : { user }),
    ...(integration === undefined ? {} : { integration }),
    ...(olderThan === undefined ? {} : { createdBefore: Date.now() - duration('--older-than', olderThan) }),
  };
}

function lineOf(session: Session): string {
  const { id, user, provider, integration, created_at: since, last_seen_at: seen } = publicSession(session);
  return [id, `user ${user}`, `${provider}/${integration}`, `since ${since}`, `seen ${seen}`].join('  ');
}

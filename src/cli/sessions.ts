import type { Command } from 'commander';
import { peoplePageMax } from '../sign-in/limits.ts';
import type { People } from '../sign-in/sign-in.ts';
import type { SessionFilter } from '../sign-in/types.ts';
import { isUserKey, publicSession } from '../sign-in/types.ts';
import { describe, type JsonOption, subcommand, withOpened } from './command.ts';
import { duration } from './option-values.ts';
import { printListing, printResult } from './output/print.ts';
import type { Column } from './output/table.ts';
import { UsageError } from './problems.ts';

type PublicSession = ReturnType<typeof publicSession>;

const columns: readonly Column<PublicSession>[] = [
  { title: 'SESSION', cell: ({ id }) => id },
  { title: 'USER', cell: ({ user }) => user },
  { title: 'INTEGRATION', cell: ({ provider, integration }) => `${provider}/${integration}` },
  { title: 'SINCE', cell: ({ created_at: at }) => at },
  { title: 'LAST SEEN', cell: ({ last_seen_at: at }) => at },
  { title: 'EXPIRES', cell: ({ expires_at: at }) => at },
];

/** The conditions as typed: the audit entry of `sessions end` has them in this form. */
interface Conditions extends JsonOption {
  readonly user?: string;
  readonly integration?: string;
  readonly olderThan?: string;
}

/** `counterfoil sessions`: works while the service is running. */
export function defineSessions(command: Command): void {
  describe(command, {
    description: 'Who is signed in.',
    examples: ['sessions list', 'sessions list --help'],
    json: 'none',
  });
  withConditions(
    subcommand(command, 'list', {
      description: 'List who is signed in.',
      examples: ['sessions list', 'sessions list --integration google/web --json'],
      json: 'lines',
    }),
  ).action(list);
  withConditions(
    subcommand(command, 'end', {
      description: 'End sessions and their tokens: one by its id, those that meet all conditions, or all.',
      examples: [
        'sessions end ses_4bV…',
        'sessions end --user 4bV…',
        'sessions end --integration google/web --older-than 30d',
        'sessions end --all',
      ],
    }),
  )
    .argument('[session]', 'the id of a session; "sessions list" shows it')
    .option('--all', 'all sessions of everybody')
    .action(end);
}

function withConditions(command: Command): Command {
  return command
    .option('--user <id>', 'only sessions of this user')
    .option('--integration <place>', 'only sign-ins by this integration, such as google/web')
    .option('--older-than <duration>', 'only sessions that began longer ago: 30m, 24h or 90d');
}

async function withPeople<Result>(work: (people: People) => Promise<Result>): Promise<Result> {
  const { openPeople } = await import('../app/offline.ts');
  return withOpened(openPeople, ({ people }) => work(people));
}

async function list(conditions: Conditions): Promise<void> {
  const filter = filterOf(conditions);
  const { json } = conditions;
  await withPeople((people) =>
    printListing(allSessions(people, filter), {
      ...{ json, columns, none: 'No sessions.' },
      toJson: (session) => session,
    }),
  );
}

async function* allSessions(people: People, filter: SessionFilter): AsyncGenerator<PublicSession> {
  let after: string | undefined;
  do {
    const page = await people.sessions(filter, peoplePageMax, after);
    yield* page.sessions.map(publicSession);
    after = page.next;
  } while (after !== undefined);
}

interface EndOptions extends Conditions {
  readonly all?: boolean;
}

async function end(session: string | undefined, { json, all, ...conditions }: EndOptions): Promise<void> {
  const filter = filterOf(conditions);
  const ways = [session !== undefined, all === true, Object.keys(filter).length > 0];
  if (ways.filter(Boolean).length !== 1)
    throw new UsageError(
      'name the sessions to end: one by its id, or --user, --integration or --older-than, or --all',
    );
  const ended = await withPeople((people) =>
    session === undefined ? endMatching(people, filter, conditions) : endOne(people, session),
  );
  printResult(json, { ended }, `${ended} ${ended === 1 ? 'session has' : 'sessions have'} ended`);
}

async function endOne(people: People, id: string): Promise<number> {
  await people.endSession(id, { by: 'cli' });
  return 1;
}

function endMatching(
  people: People,
  filter: SessionFilter,
  { user, integration, olderThan }: Conditions,
): Promise<number> {
  const typed = Object.entries({ user, integration, older_than: olderThan })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${value}`);
  const act = { what: 'sessions.ended', on: typed.join(' ') || 'all', by: 'cli' } as const;
  return people.endSessions({ filter, act });
}

function filterOf({ user, integration, olderThan }: Conditions): SessionFilter {
  if (integration !== undefined && !/^[a-z]+\/[a-z0-9-]+$/.test(integration))
    throw new UsageError('--integration: must be a provider and a name, such as google/web');
  if (user !== undefined && !isUserKey(user))
    throw new UsageError('--user: must be the id of a user; "users list" shows it');
  return {
    ...(user === undefined ? {} : { user }),
    ...(integration === undefined ? {} : { integration }),
    ...(olderThan === undefined ? {} : { createdBefore: Date.now() - duration('--older-than')(olderThan) }),
  };
}

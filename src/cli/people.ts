import type { Command } from 'commander';
import { defined } from '../defined.ts';
import { peoplePageMax } from '../sign-in/limits.ts';
import type { People } from '../sign-in/sign-in.ts';
import { isUserKey, publicSession, publicUser, type SessionFilter, type User } from '../sign-in/types.ts';
import { describe, type JsonOption, pages, subcommand, withOpened } from './command.ts';
import { duration } from './option-values.ts';
import { printFields, printListing, printResult } from './output/print.ts';
import type { Column } from './output/table.ts';
import { UsageError } from './problems.ts';

const userColumns: readonly Column<User>[] = [
  { title: 'USER', cell: ({ id }) => id },
  { title: 'NAME', cell: ({ name }) => name },
  { title: 'EMAIL', cell: ({ email }) => email },
  { title: 'INTEGRATION', cell: ({ provider, integration }) => `${provider}/${integration}` },
  { title: 'SUBJECT', cell: ({ subject }) => subject },
  { title: 'LAST SIGN-IN', cell: ({ lastSignInAt }) => lastSignInAt },
];

/** `counterfoil users`: works while the service is running. */
export function defineUsers(command: Command): void {
  describe(command, {
    description: 'The people who have signed in.',
    examples: ['users list', 'users list --help'],
    json: 'none',
  });
  subcommand(command, 'list', {
    description: 'List everybody who has signed in, by id.',
    examples: ['users list', 'users list --json'],
    json: 'lines',
  }).action(listUsers);
  subcommand(command, 'show', { description: 'Show one user.', examples: ['users show 4bV…'] })
    .argument('<user>', 'the id of a user; "users list" shows it')
    .action(showUser);
  subcommand(command, 'delete', {
    description:
      'End all sessions and tokens of a user, and erase the profile. A deleted user who signs in again is a new user.',
    examples: ['users delete 4bV…'],
  })
    .argument('<user>', 'the id of a user; "users list" shows it')
    .action(removeUser);
}

async function listUsers({ json }: JsonOption): Promise<void> {
  await withPeople((people) =>
    printListing(allUsers(people), { json, columns: userColumns, toJson: publicUser, none: 'No users.' }),
  );
}

async function* allUsers(people: People): AsyncGenerator<User> {
  for await (const { users } of pages((after) => people.users(peoplePageMax, after))) yield* users;
}

async function showUser(id: string, { json }: JsonOption): Promise<void> {
  const user = await withPeople((people) => people.user(id));
  printFields(json, publicUser(user), [
    ['user', user.id],
    ['name', user.name],
    ['email', user.email],
    ['integration', `${user.provider}/${user.integration}`],
    ['issuer', user.issuer],
    ['subject', user.subject],
    ['first sign-in', user.firstSignInAt],
    ['last sign-in', user.lastSignInAt],
  ]);
}

async function removeUser(id: string, { json }: JsonOption): Promise<void> {
  await withPeople((people) => people.deleteUser(id, { by: 'cli' }));
  printResult(json, { id, deleted: true }, `User ${id} is deleted`);
}

type PublicSession = ReturnType<typeof publicSession>;

const sessionColumns: readonly Column<PublicSession>[] = [
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
  ).action(listSessions);
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
    .action(endSessions);
}

function withConditions(command: Command): Command {
  return command
    .option('--user <id>', 'only sessions of this user')
    .option('--integration <place>', 'only sign-ins by this integration, such as google/web')
    .option('--older-than <duration>', 'only sessions that began longer ago: 30m, 24h or 90d');
}

async function listSessions(conditions: Conditions): Promise<void> {
  const filter = parseFilter(conditions);
  const { json } = conditions;
  await withPeople((people) =>
    printListing(allSessions(people, filter), {
      ...{ json, columns: sessionColumns, none: 'No sessions.' },
      toJson: (session) => session,
    }),
  );
}

async function* allSessions(people: People, filter: SessionFilter): AsyncGenerator<PublicSession> {
  for await (const { sessions } of pages((after) => people.sessions(filter, peoplePageMax, after)))
    yield* sessions.map(publicSession);
}

interface EndOptions extends Conditions {
  readonly all?: boolean;
}

async function endSessions(
  session: string | undefined,
  { json, all, ...conditions }: EndOptions,
): Promise<void> {
  const filter = parseFilter(conditions);
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

function parseFilter({ user, integration, olderThan }: Conditions): SessionFilter {
  if (integration !== undefined && !/^[a-z]+\/[a-z0-9-]+$/.test(integration))
    throw new UsageError('--integration: must be a provider and a name, such as google/web');
  if (user !== undefined && !isUserKey(user))
    throw new UsageError('--user: must be the id of a user; "users list" shows it');
  const createdBefore =
    olderThan === undefined ? undefined : Date.now() - duration('--older-than')(olderThan);
  return defined({ user, integration, createdBefore });
}

async function withPeople<Result>(work: (people: People) => Promise<Result>): Promise<Result> {
  const { openPeople } = await import('../app/offline.ts');
  return withOpened(openPeople, ({ people }) => work(people));
}

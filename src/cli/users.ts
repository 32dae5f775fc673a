import type { Command } from 'commander';
import { peoplePageMax } from '../sign-in/limits.ts';
import type { People } from '../sign-in/sign-in.ts';
import type { User } from '../sign-in/types.ts';
import { publicUser } from '../sign-in/types.ts';
import { describe, type JsonOption, subcommand, withOpened } from './command.ts';
import { printFields, printListing, printResult } from './output/print.ts';
import type { Column } from './output/table.ts';

const columns: readonly Column<User>[] = [
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
  }).action(list);
  subcommand(command, 'show', { description: 'Show one user.', examples: ['users show 4bV…'] })
    .argument('<user>', 'the id of a user; "users list" shows it')
    .action(show);
  subcommand(command, 'delete', {
    description:
      'End all sessions and tokens of a user, and erase the profile. A deleted user who signs in again is a new user.',
    examples: ['users delete 4bV…'],
  })
    .argument('<user>', 'the id of a user; "users list" shows it')
    .action(remove);
}

async function withPeople<Result>(work: (people: People) => Promise<Result>): Promise<Result> {
  const { openPeople } = await import('../app/offline.ts');
  return withOpened(openPeople, ({ people }) => work(people));
}

async function list({ json }: JsonOption): Promise<void> {
  await withPeople((people) =>
    printListing(allUsers(people), { json, columns, toJson: publicUser, none: 'No users.' }),
  );
}

async function* allUsers(people: People): AsyncGenerator<User> {
  let after: string | undefined;
  do {
    const page = await people.users(peoplePageMax, after);
    yield* page.users;
    after = page.next;
  } while (after !== undefined);
}

async function show(id: string, { json }: JsonOption): Promise<void> {
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

async function remove(id: string, { json }: JsonOption): Promise<void> {
  await withPeople((people) => people.deleteUser(id, { by: 'cli' }));
  printResult(json, { id, deleted: true }, `User ${id} is deleted`);
}

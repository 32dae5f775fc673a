import { parseArgs } from 'node:util';
import { openPeople } from '../app/offline/people.ts';
import { SettingsError } from '../errors.ts';
import { peoplePageMax } from '../sign-in/limits.ts';
import { publicUser } from '../sign-in/public-people.ts';
import type { User } from '../sign-in/users.ts';
import { runSubcommand, withOpened } from './command.ts';
import { printable } from './printable.ts';

const usage = `Usage: counterfoil users <command>

  list        print everybody who has signed in, by id
  show ID     print one user
  delete ID   end all sessions and tokens of a user and erase the profile
    --json      of list and show: one JSON object a line

These commands work while the service is running. A deleted user who signs in again is a new user.
`;

/** `counterfoil users`: exits with 0, or with 2 if it could not run. */
export async function users(args: readonly string[]): Promise<void> {
  await runSubcommand(usage, { list, show, delete: remove }, args);
}

const json = { json: { type: 'boolean', default: false } } as const;

async function list(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: json });
  await withOpened(openPeople, async (people) => {
    let after: string | undefined;
    do {
      const page = await people.users.list(peoplePageMax, after);
      for (const user of page.users) print(user, values.json);
      after = page.next;
    } while (after !== undefined);
  });
}

async function show(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({ args: [...args], options: json, allowPositionals: true });
  const id = only(positionals);
  await withOpened(openPeople, async (people) => print(await people.users.find(id), values.json));
}

async function remove(args: readonly string[]): Promise<void> {
  const { positionals } = parseArgs({ args: [...args], options: {}, allowPositionals: true });
  const id = only(positionals);
  await withOpened(openPeople, async (people) => {
    await people.accessEnding.deleteUser(id, { by: 'cli' });
  });
  process.stdout.write(`User ${id} is deleted\n`);
}

function print(user: User, asJson: boolean): void {
  process.stdout.write(`${asJson ? printable(JSON.stringify(publicUser(user))) : lineOf(user)}\n`);
}

function lineOf({ id, name, email, provider, integration, subject, lastSignInAt }: User): string {
  const known = [name, email].filter((each) => each !== undefined).map(printable);
  const from = `${provider}/${integration}`;
  return [id, ...known, from, `subject ${printable(subject)}`, `last sign-in ${lastSignInAt}`].join('  ');
}

function only(positionals: readonly string[]): string {
  const [id] = positionals;
  if (id === undefined || positionals.length > 1)
    throw new SettingsError(['name one user by its id; "users list" shows it']);
  return id;
}

import type { Command } from 'commander';
import { type Administrator, publicAdministrator } from '../access/administrators.ts';
import { type Scope, scopes } from '../access/scopes.ts';
import type { OfflineAccess } from '../app/access.ts';
import { userKey } from '../sign-in/identity.ts';
import { describe, type JsonOption, repeatable, subcommand, withOpened } from './command.ts';
import { printListing, printResult } from './output/print.ts';
import type { Column } from './output/table.ts';

const issuerArgument = [
  '<issuer>',
  'the issuer of their ID tokens, such as https://accounts.google.com',
] as const;
const subjectArgument = ['<subject>', 'their subject there; "users list --json" prints both'] as const;

/** `counterfoil admins`: works while the service is running; a change applies to the next request. */
export function defineAdmins(command: Command): void {
  describe(command, {
    description: 'The people who may sign in to the console with an integration.',
    examples: ['admins list', 'admins list --help'],
    json: 'none',
  });
  subcommand(command, 'add', {
    description: 'Let a person sign in to the console, or change their scopes and name.',
    examples: [
      'admins add https://accounts.google.com 113427465539012345678 --name Ada',
      'admins add https://github.com 583231 --scope payments:read --scope payments:refund',
    ],
  })
    .argument(...issuerArgument)
    .argument(...subjectArgument)
    .addOption(
      repeatable('--scope <scope>', 'what they may do, by default admin; repeat it for several', scopes),
    )
    .option('--name <name>', 'a name for the audit; by default that of their ID token')
    .action(add);
  subcommand(command, 'list', {
    description: 'List all administrators.',
    examples: ['admins list', 'admins list --json'],
    json: 'lines',
  }).action(list);
  subcommand(command, 'remove', {
    description: 'End the sessions of an administrator in the console, and let them sign in no more.',
    examples: ['admins remove https://github.com 583231'],
  })
    .argument(...issuerArgument)
    .argument(...subjectArgument)
    .action(remove);
}

async function withAccess<Result>(work: (access: OfflineAccess) => Promise<Result>): Promise<Result> {
  const { openOfflineAccess } = await import('../app/access.ts');
  return withOpened((settings) => openOfflineAccess(settings, false), work);
}

interface AddOptions extends JsonOption {
  readonly scope?: readonly Scope[];
  readonly name?: string;
}

async function add(
  issuer: string,
  subject: string,
  { json, scope = ['admin'], name }: AddOptions,
): Promise<void> {
  const id = userKey({ issuer, subject });
  const named = name === undefined ? {} : { name };
  const added = await withAccess(({ administrators }) =>
    administrators.add({ id, issuer, subject, scopes: scope, ...named }, { by: 'cli' }),
  );
  const allowed = added.scopes.join(' ');
  printResult(json, publicAdministrator(added), `${subject} of ${issuer} is an administrator: ${allowed}`);
}

const columns: readonly Column<Administrator>[] = [
  { title: 'NAME', cell: ({ name }) => name },
  { title: 'ISSUER', cell: ({ issuer }) => issuer },
  { title: 'SUBJECT', cell: ({ subject }) => subject },
  { title: 'ADDED', cell: ({ addedAt }) => addedAt },
  { title: 'ALLOWS', cell: ({ scopes: allowed }) => allowed.join(' ') },
];

async function list({ json }: JsonOption): Promise<void> {
  await withAccess(async ({ administrators }) =>
    printListing(await administrators.list(), {
      ...{ json, columns, toJson: publicAdministrator, none: 'No administrators.' },
    }),
  );
}

async function remove(issuer: string, subject: string, { json }: JsonOption): Promise<void> {
  const id = userKey({ issuer, subject });
  const removed = await withAccess(({ administrators }) => administrators.remove(id, { by: 'cli' }));
  printResult(json, publicAdministrator(removed), `${subject} of ${issuer} is no administrator any more`);
}

import type { Command } from 'commander';
import { type Administrator, publicAdministrator } from '../access/console/administrators.ts';
import { publicKey } from '../access/keys/api-key.ts';
import { type Scope, scopes } from '../access/scopes.ts';
import type { OfflineAccess } from '../app/access.ts';
import { userKey } from '../sign-in/types.ts';
import { describe, type JsonOption, repeatable, subcommand, withOpened } from './command.ts';
import { hint, printListing, printResult } from './output/print.ts';
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
      'admins add https://login.example 583231 --integration oidc/staff',
      'admins add https://github.com 583231 --scope payments:read --scope payments:refund',
    ],
  })
    .argument(...issuerArgument)
    .argument(...subjectArgument)
    .addOption(
      repeatable('--scope <scope>', 'what they may do, by default admin; repeat it for several', scopes),
    )
    .option(
      '--integration <provider/name>',
      'the approved integration that they sign in with; by default the only one',
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
  readonly integration?: string;
  readonly name?: string;
}

async function add(
  issuer: string,
  subject: string,
  { json, scope = ['admin'], integration, name }: AddOptions,
): Promise<void> {
  const id = userKey({ issuer, subject });
  const named = name === undefined ? {} : { name };
  const added = await withAccess(async ({ administrators, approvals }) => {
    const registration = await approvals.registrationFor(integration);
    const request = { id, issuer, subject, registration, scopes: scope, ...named };
    return administrators.add(request, { by: 'cli' });
  });
  const allowed = added.scopes.join(' ');
  const by = added.registration?.integration;
  const text = `${subject} of ${issuer} is an administrator by ${by}: ${allowed}`;
  printResult(json, publicAdministrator(added), text);
}

const columns: readonly Column<Administrator>[] = [
  { title: 'NAME', cell: ({ name }) => name },
  { title: 'ISSUER', cell: ({ issuer }) => issuer },
  { title: 'SUBJECT', cell: ({ subject }) => subject },
  { title: 'INTEGRATION', cell: ({ registration }) => registration?.integration ?? 'none: add again' },
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
  const { removed, left } = await withAccess(async ({ administrators, keys }) => {
    const removed = await administrators.remove(id, { by: 'cli' });
    // After the removal: from then on they make no more.
    return { removed, left: await keys.validCreatedBy(`administrator:${id}`) };
  });
  const result = {
    ...publicAdministrator(removed),
    valid_keys: left.map((key) => publicKey(key, Date.now())),
  };
  printResult(json, result, `${subject} of ${issuer} is no administrator any more`);
  if (json || left.length === 0) return;
  hint(`These API keys of theirs stay valid:`);
  for (const { id: key, name } of left) hint(`  ${key} (${name})`);
  hint(`To revoke them: npx counterfoil keys revoke --created-by administrator:${id}`);
}

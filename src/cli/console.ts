import type { Command } from 'commander';
import { type Administrator, publicAdministrator } from '../access/console/administrators.ts';
import { publicKey } from '../access/keys/api-key.ts';
import { type Scope, scopes } from '../access/scopes.ts';
import { type AuditEntry, publicAct } from '../audit/audit.ts';
import { defined } from '../defined.ts';
import { type Integration, userKey } from '../sign-in/types.ts';
import { describe, type JsonOption, repeatable, subcommand, withAccess } from './command.ts';
import { moment } from './option-values.ts';
import { hint, printListing, printResult } from './output/print.ts';
import type { Column } from './output/table.ts';
import { UsageError } from './problems.ts';

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
    .action(addAdministrator);
  subcommand(command, 'list', {
    description: 'List all administrators.',
    examples: ['admins list', 'admins list --json'],
    json: 'lines',
  }).action(listAdministrators);
  subcommand(command, 'remove', {
    description: 'End the sessions of an administrator in the console, and let them sign in no more.',
    examples: ['admins remove https://github.com 583231'],
  })
    .argument(...issuerArgument)
    .argument(...subjectArgument)
    .action(removeAdministrator);
}

interface AddOptions extends JsonOption {
  readonly scope?: readonly Scope[];
  readonly integration?: string;
  readonly name?: string;
}

async function addAdministrator(
  issuer: string,
  subject: string,
  { json, scope = ['admin'], integration, name }: AddOptions,
): Promise<void> {
  const id = userKey({ issuer, subject });
  const added = await withAccess(async ({ administrators, approvals }) => {
    const registration = await approvals.registrationFor(integration);
    const request = { id, issuer, subject, registration, scopes: scope, ...defined({ name }) };
    return administrators.add(request, { by: 'cli' });
  });
  const allowed = added.scopes.join(' ');
  const by = added.registration?.integration;
  const text = `${subject} of ${issuer} is an administrator by ${by}: ${allowed}`;
  printResult(json, publicAdministrator(added), text);
}

const administratorColumns: readonly Column<Administrator>[] = [
  { title: 'NAME', cell: ({ name }) => name },
  { title: 'ISSUER', cell: ({ issuer }) => issuer },
  { title: 'SUBJECT', cell: ({ subject }) => subject },
  { title: 'INTEGRATION', cell: ({ registration }) => registration?.integration ?? 'none: add again' },
  { title: 'ADDED', cell: ({ addedAt }) => addedAt },
  { title: 'ALLOWS', cell: ({ scopes: allowed }) => allowed.join(' ') },
];

async function listAdministrators({ json }: JsonOption): Promise<void> {
  await withAccess(async ({ administrators }) =>
    printListing(await administrators.list(), {
      ...{ json, columns: administratorColumns, toJson: publicAdministrator, none: 'No administrators.' },
    }),
  );
}

async function removeAdministrator(issuer: string, subject: string, { json }: JsonOption): Promise<void> {
  const id = userKey({ issuer, subject });
  const { removed, left } = await withAccess(async ({ administrators, keys }) => {
    const removed = await administrators.remove(id, { by: 'cli' });
    // Read after the removal: until then the administrator can create keys.
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

const integrationArgument = [
  '<provider/name>',
  'as "integrations list" prints it, such as google/staff',
] as const;

/** `counterfoil integrations`: works while the service is running; a change applies to the next request. */
export function defineIntegrations(command: Command): void {
  describe(command, {
    description: 'The sign-in integrations, and which of them the console accepts.',
    examples: ['integrations list', 'integrations list --help'],
    json: 'none',
  });
  subcommand(command, 'list', {
    description: 'List all integrations without their secrets.',
    examples: ['integrations list', 'integrations list --json'],
    json: 'lines',
  }).action(listIntegrations);
  subcommand(command, 'approve', {
    description: 'Let administrators sign in to the console with an integration.',
    examples: [
      'integrations approve google/staff --client-id 1234.apps.googleusercontent.com',
      'integrations approve oidc/staff --client-id web --issuer https://login.example',
    ],
  })
    .argument(...integrationArgument)
    .requiredOption('--client-id <id>', 'its client id, as you have registered it at the provider')
    .option('--issuer <issuer>', 'its issuer, if "integrations list" prints one')
    .action(approve);
  subcommand(command, 'withdraw', {
    description: 'End the approval of an integration, and the sessions of the console that depend on it.',
    examples: ['integrations withdraw google/staff'],
  })
    .argument(...integrationArgument)
    .action(withdraw);
}

const integrationColumns: readonly Column<Integration>[] = [
  { title: 'INTEGRATION', cell: ({ provider, name }) => `${provider}/${name}` },
  { title: 'CLIENT ID', cell: ({ clientId }) => clientId },
  { title: 'ISSUER', cell: ({ issuer }) => issuer },
  {
    title: 'CONSOLE',
    cell: ({ consoleApprovedAt }) => (consoleApprovedAt === undefined ? 'no' : 'approved'),
  },
];

function integrationJson({ provider, name, clientId, issuer, createdAt, consoleApprovedAt }: Integration) {
  return {
    provider,
    name,
    client_id: clientId,
    issuer: issuer ?? null,
    created_at: createdAt,
    console_approved_at: consoleApprovedAt ?? null,
  };
}

async function listIntegrations({ json }: JsonOption): Promise<void> {
  await withAccess(async ({ approvals }) =>
    printListing(await approvals.list(), {
      json,
      columns: integrationColumns,
      toJson: integrationJson,
      none: 'No integrations.',
    }),
  );
}

interface ApproveOptions extends JsonOption {
  readonly clientId: string;
  readonly issuer?: string;
}

async function approve(integration: string, { json, clientId, issuer }: ApproveOptions): Promise<void> {
  const [provider, name] = parsedIntegration(integration);
  const approved = await withAccess(({ approvals }) =>
    approvals.approve(provider, name, { clientId, issuer }, { by: 'cli' }),
  );
  printResult(
    json,
    integrationJson(approved),
    `The console accepts ${integration} with the client ${clientId}`,
  );
}

async function withdraw(integration: string, { json }: JsonOption): Promise<void> {
  const [provider, name] = parsedIntegration(integration);
  const withdrawn = await withAccess(({ approvals }) => approvals.withdraw(provider, name, { by: 'cli' }));
  printResult(json, integrationJson(withdrawn), `The console accepts ${integration} no more`);
}

function parsedIntegration(integration: string): readonly [provider: string, name: string] {
  const [provider, name, ...rest] = integration.split('/');
  if (provider && name && rest.length === 0) return [provider, name];
  throw new UsageError('<provider/name>: must be such as google/staff');
}

const actColumns: readonly Column<AuditEntry>[] = [
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
    .action(listActs);
}

async function listActs({ since, json }: JsonOption & { readonly since?: number }): Promise<void> {
  await withAccess(({ trail }) =>
    printListing(trail(since), { json, columns: actColumns, toJson: publicAct, none: 'No acts.' }),
  );
}

import type { Command } from 'commander';
import type { OfflineAccess } from '../app/access.ts';
import type { Integration } from '../sign-in/types.ts';
import { describe, type JsonOption, subcommand, withOpened } from './command.ts';
import { printListing, printResult } from './output/print.ts';
import type { Column } from './output/table.ts';
import { UsageError } from './problems.ts';

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
  }).action(list);
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

async function withAccess<Result>(work: (access: OfflineAccess) => Promise<Result>): Promise<Result> {
  const { openOfflineAccess } = await import('../app/access.ts');
  return withOpened((settings) => openOfflineAccess(settings, false), work);
}

const columns: readonly Column<Integration>[] = [
  { title: 'INTEGRATION', cell: ({ provider, name }) => `${provider}/${name}` },
  { title: 'CLIENT ID', cell: ({ clientId }) => clientId },
  { title: 'ISSUER', cell: ({ issuer }) => issuer },
  {
    title: 'CONSOLE',
    cell: ({ consoleApprovedAt }) => (consoleApprovedAt === undefined ? 'no' : 'approved'),
  },
];

function toJson({ provider, name, clientId, issuer, createdAt, consoleApprovedAt }: Integration) {
  return {
    provider,
    name,
    client_id: clientId,
    issuer: issuer ?? null,
    created_at: createdAt,
    console_approved_at: consoleApprovedAt ?? null,
  };
}

async function list({ json }: JsonOption): Promise<void> {
  await withAccess(async ({ approvals }) =>
    printListing(await approvals.list(), { json, columns, toJson, none: 'No integrations.' }),
  );
}

interface ApproveOptions extends JsonOption {
  readonly clientId: string;
  readonly issuer?: string;
}

async function approve(integration: string, { json, clientId, issuer }: ApproveOptions): Promise<void> {
  const [provider, name] = parts(integration);
  const approved = await withAccess(({ approvals }) =>
    approvals.approve(provider, name, { clientId, issuer }, { by: 'cli' }),
  );
  printResult(json, toJson(approved), `The console accepts ${integration} with the client ${clientId}`);
}

async function withdraw(integration: string, { json }: JsonOption): Promise<void> {
  const [provider, name] = parts(integration);
  const withdrawn = await withAccess(({ approvals }) => approvals.withdraw(provider, name, { by: 'cli' }));
  printResult(json, toJson(withdrawn), `The console accepts ${integration} no more`);
}

function parts(integration: string): readonly [provider: string, name: string] {
  const [provider, name, ...rest] = integration.split('/');
  if (provider && name && rest.length === 0) return [provider, name];
  throw new UsageError('<provider/name>: must be such as google/staff');
}

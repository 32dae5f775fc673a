import type { Command } from 'commander';
import {
  apiKeyOverlapMsDefault,
  apiKeyOverlapMsMax,
  keyStatus,
  type ListedKey,
  publicKey,
  publishableScopes,
  type ShownKey,
} from '../access/keys/api-key.ts';
import { type Scope, scopes } from '../access/scopes.ts';
import { defined } from '../defined.ts';
import { describe, type JsonOption, repeatable, subcommand, withAccess } from './command.ts';
import { commandSettings } from './command-settings.ts';
import { duration, futureMoment } from './option-values.ts';
import { hint, printListing, printResult } from './output/print.ts';
import type { Column } from './output/table.ts';
import { UsageError } from './problems.ts';

const overlapHoursDefault = apiKeyOverlapMsDefault / 3_600_000;
const keyArgument = ['<key>', 'the id of a key; "keys list" prints the ids'] as const;

/** `counterfoil keys`: works while the service is running; a change applies within a second. */
export function defineKeys(command: Command): void {
  describe(command, {
    description:
      'API keys. As soon as one exists, requests need one; sign-in, health, documentation and signed events do not.',
    examples: ['keys list', 'keys list --help'],
    json: 'none',
  });
  defineCreate(command);
  subcommand(command, 'list', {
    description: 'List all keys without their secrets.',
    examples: ['keys list', 'keys list --json'],
    json: 'lines',
  }).action(list);
  subcommand(command, 'rotate', {
    description: 'Give a key a new secret and print it.',
    examples: ['keys rotate 0123456789abcdef', 'keys rotate 0123456789abcdef --overlap 0m'],
  })
    .argument(...keyArgument)
    .option(
      '--overlap <duration>',
      `how long the present secret stays valid; by default ${overlapHoursDefault}h, at most 30d, 0m ends it now`,
      duration('--overlap'),
    )
    .action(rotate);
  subcommand(command, 'revoke', {
    description: 'End a key at once, or all keys that somebody has created.',
    examples: ['keys revoke 0123456789abcdef', 'keys revoke --created-by administrator:4bV…'],
  })
    .argument('[key]', keyArgument[1])
    .option(
      '--created-by <creator>',
      'instead, every key that this key or administrator has created, also through other keys',
    )
    .action(revoke);
}

function defineCreate(command: Command): void {
  subcommand(command, 'create', {
    description: 'Make a key and print it, once.',
    examples: [
      'keys create --name backend --scope admin',
      'keys create --name shelf --scope tables:read --scope tables:write --table books --expires 90d',
      'keys create --publishable --name shop --origin https://shop.example',
    ],
  })
    .requiredOption('--name <name>', 'a name to recognize the key by')
    .addOption(repeatable('--scope <scope>', 'what it allows; repeat it for several', scopes))
    .addOption(repeatable('--table <table>', 'limits it to this table; repeat it for several'))
    .addOption(
      repeatable(
        '--route <processor/route>',
        'limits it to this payment route, such as stripe/charge; repeat it for several',
      ),
    )
    .option(
      '--replaces <key>',
      'the key whose idempotency keys it takes over; by default the latest key of the same name',
    )
    .option(
      '--expires <when>',
      'in 90d, 24h or 30m, or on 2027-01-01; by default never',
      futureMoment('--expires'),
    )
    .option(
      '--publishable',
      'a key for browsers: it creates payments, on routes with a price, and nothing else',
    )
    .addOption(
      repeatable(
        '--origin <origin>',
        'of a publishable key: the origin of pages that may use it; repeat it for several',
      ),
    )
    .action(create);
}

interface CreateOptions extends JsonOption {
  readonly name: string;
  readonly scope?: readonly Scope[];
  readonly table?: readonly string[];
  readonly route?: readonly string[];
  readonly origin?: readonly string[];
  /** Milliseconds since 1970. */
  readonly expires?: number;
  readonly replaces?: string;
  readonly publishable?: boolean;
}

async function create({
  json,
  name,
  replaces,
  publishable = false,
  ...options
}: CreateOptions): Promise<void> {
  const { scope = publishable ? publishableScopes : [], table, route, origin, expires } = options;
  const optional = {
    tables: table,
    routes: route,
    origins: origin,
    expiresAt: expires === undefined ? undefined : new Date(expires).toISOString(),
  };
  const kind = publishable ? 'publishable' : 'secret';
  const request = { kind, name, scopes: scope, ...defined(optional) } as const;
  const shown = await withAccess(({ keys }) => keys.create(request, replaces), true);
  show(shown, json);
  const { unpricedRouteWarning } = await import('../app/access.ts');
  const problem = unpricedRouteWarning(shown.key, await commandSettings());
  if (problem !== undefined) hint(`Warning: ${problem}.`);
}

/** Standard output has only the key, so that a script can read it. */
function show({ key, text }: ShownKey, json: boolean | undefined): void {
  printResult(json, { ...publicKey(key, Date.now()), key: text }, text);
  if (json) return;
  const { id, kind, name } = key;
  hint(
    kind === 'publishable'
      ? `This is publishable API key ${id} (${name}). It is not a secret: put it into the pages of its origins. ` +
          'Copy it now: the service stores only its hash.'
      : `This is API key ${id} (${name}). Keep it: it is never shown again.`,
  );
}

const columns: readonly Column<ListedKey>[] = [
  { title: 'KEY', cell: ({ id }) => id },
  {
    title: 'STATUS',
    cell: (key) => keyStatus(key, Date.now()),
    style: (key) => (keyStatus(key, Date.now()) === 'valid' ? 'green' : 'dim'),
  },
  { title: 'KIND', cell: ({ kind }) => kind },
  { title: 'NAME', cell: ({ name }) => name },
  { title: 'LAST USED', cell: ({ lastUsedAt }) => lastUsedAt ?? 'never' },
  { title: 'EXPIRES', cell: ({ expiresAt }) => expiresAt ?? 'never' },
  { title: 'CREATED BY', cell: ({ creators = [] }) => creators.at(-1) ?? 'unknown' },
  { title: 'CREATED', cell: ({ createdAt }) => createdAt },
  { title: 'ALLOWS', cell: allows },
];

function allows({ scopes: allowed, tables = [], routes = [], origins = [] }: ListedKey): string {
  const limits = [...tables, ...routes, ...origins];
  return [...allowed, ...(limits.length === 0 ? [] : [`on ${limits.join(' ')}`])].join(' ');
}

async function list({ json }: JsonOption): Promise<void> {
  await withAccess(async ({ keys }) => {
    const toJson = (key: ListedKey) => ({
      ...publicKey(key, Date.now()),
      last_used_at: key.lastUsedAt ?? null,
    });
    await printListing(await keys.list(), { json, columns, toJson, none: 'No API keys.' });
  });
}

async function rotate(
  id: string,
  { json, overlap = apiKeyOverlapMsDefault }: JsonOption & { readonly overlap?: number },
): Promise<void> {
  if (overlap > apiKeyOverlapMsMax) throw new UsageError('--overlap: must be at most 30d');
  show(await withAccess(({ keys }) => keys.rotate(id, overlap)), json);
}

async function revoke(
  id: string | undefined,
  { json, createdBy }: JsonOption & { readonly createdBy?: string },
): Promise<void> {
  if ((id === undefined) === (createdBy === undefined))
    throw new UsageError('keys revoke: name either a key or --created-by');
  if (createdBy !== undefined) return revokeCreatedBy(createdBy, json);
  if (id === undefined) return;
  const key = await withAccess(({ keys }) => keys.revoke(id));
  printResult(json, publicKey(key, Date.now()), `API key ${id} (${key.name}) is revoked`);
}

async function revokeCreatedBy(creator: string, json: boolean | undefined): Promise<void> {
  const revoked = await withAccess(({ keys }) => keys.revokeCreatedBy(creator));
  printResult(
    json,
    { revoked: revoked.map((key) => publicKey(key, Date.now())) },
    revoked.length === 0
      ? `No key by ${creator} was valid`
      : revoked.map(({ id, name }) => `API key ${id} (${name}) is revoked`),
  );
}

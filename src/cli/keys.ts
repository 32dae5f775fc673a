import { parseArgs } from 'node:util';
import { hasEnded } from '../access/api-key.ts';
import type { ListedKey, ShownKey } from '../access/api-keys.ts';
import { publishableScopes } from '../access/create-key-request.ts';
import { type Scope, scopes } from '../access/scopes.ts';
import { type OfflineAccess, openOfflineAccess } from '../app/access.ts';
import { withoutPrice } from '../app/unpriced-routes.ts';
import { durationOf } from '../duration.ts';
import { SettingsError } from '../errors.ts';
import { commandSettings, runSubcommand, withOpened } from './command.ts';
import { apiKeyOverlapMsDefault, apiKeyOverlapMsMax } from './limits.ts';
import { duration, moment } from './timestamps.ts';

const overlapHoursDefault = apiKeyOverlapMsDefault / 3_600_000;

const usage = `Usage: counterfoil keys <command>

  create                  make a key and print it, once
    --name NAME             a name to recognize it by
    --scope SCOPE           what it allows; repeat it for several:
                            ${scopes.slice(0, 5).join(', ')},
                            ${scopes.slice(5).join(', ')}
    --table TABLE           limits it to this table; repeat it for several
    --route PROCESSOR/ROUTE limits it to this payment route, such as stripe/charge; repeat it for several
    --replaces ID           the key whose idempotency keys it takes over; by default the latest key of the same
                            name
    --expires WHEN          in 90d, 24h or 30m, or on 2027-01-01; by default never
    --publishable           a key for browsers: it creates payments, on routes with a price, and nothing else
    --origin ORIGIN         of a publishable key: the origin of pages that may use it; repeat it for several
  list                    print all keys without their secrets
    --json                  one JSON object a line
  rotate ID               give it a new secret and print it
    --overlap DURATION      how long the present secret stays valid; by default ${overlapHoursDefault}h, 0m ends it now
  revoke ID               end it at once

These commands work while the service is running; a change applies within a second. As soon as a key exists, requests
need one; sign-in, health, documentation and signed events do not.
`;

/** `counterfoil keys`: exits with 0, or with 2 if it could not run. Of a new key, standard output has only the key. */
export async function keys(args: readonly string[]): Promise<void> {
  await runSubcommand(usage, { create, list, rotate, revoke }, args);
}

function withAccess<Result>(
  makesStore: boolean,
  work: (access: OfflineAccess) => Promise<Result>,
): Promise<Result> {
  return withOpened((settings) => openOfflineAccess(settings, makesStore), work);
}

async function create(args: readonly string[]): Promise<void> {
  const several = { type: 'string', multiple: true } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      name: { type: 'string' },
      scope: several,
      table: several,
      route: several,
      origin: several,
      expires: { type: 'string' },
      replaces: { type: 'string' },
      publishable: { type: 'boolean', default: false },
    },
  });
  const { name, scope, table, route, origin, expires, replaces, publishable } = values;
  if (name === undefined) throw new SettingsError(['--name: is required, so that you recognize the key']);
  const shown = await withAccess(true, ({ keys: apiKeys }) =>
    apiKeys.create(
      {
        kind: publishable ? 'publishable' : 'secret',
        name,
        scopes: (scope as Scope[] | undefined) ?? (publishable ? publishableScopes : []),
        ...(table === undefined ? {} : { tables: table }),
        ...(route === undefined ? {} : { routes: route }),
        ...(origin === undefined ? {} : { origins: origin }),
        ...(expires === undefined ? {} : { expiresAt: futureTime(expires) }),
      },
      replaces,
    ),
  );
  show(shown);
  const problem = withoutPrice(shown.key, commandSettings());
  if (problem !== undefined) process.stderr.write(`Warning: ${problem}.\n`);
}

/** Standard output has only the key, so that a script can read it. */
function show({ key, text }: ShownKey): void {
  const { id, kind, name } = key;
  process.stdout.write(`${text}\n`);
  process.stderr.write(
    kind === 'publishable'
      ? `This is publishable API key ${id} (${name}). It is not a secret: put it into the pages of its origins. ` +
          'Copy it now: the service stores only its hash.\n'
      : `This is API key ${id} (${name}). Keep it: it is never shown again.\n`,
  );
}

function futureTime(text: string): string {
  const inMs = durationOf(text);
  return new Date(inMs === undefined ? moment('--expires', text) : Date.now() + inMs).toISOString();
}

async function list(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: { json: { type: 'boolean', default: false } },
  });
  const all = await withAccess(false, ({ keys: apiKeys }) => apiKeys.list());
  for (const key of all) {
    process.stdout.write(`${values.json ? JSON.stringify(withoutHashes(key)) : lineOf(key)}\n`);
  }
}

function withoutHashes({ hash: _, previous, ...key }: ListedKey): object {
  return { ...key, ...(previous === undefined ? {} : { previousUntil: previous.until }) };
}

function lineOf(key: ListedKey): string {
  const limits = [...(key.tables ?? []), ...(key.routes ?? []), ...(key.origins ?? [])];
  const may = [...key.scopes, ...(limits.length === 0 ? [] : [`on ${limits.join(' ')}`])].join(' ');
  const used = `last used ${key.lastUsedAt ?? 'never'}`;
  return [key.id, stateOf(key).padEnd(8), key.kind, key.name, may, `made ${key.createdAt}`, used].join('  ');
}

function stateOf(key: ListedKey): string {
  if (key.revokedAt !== undefined) return 'revoked';
  if (hasEnded(key, Date.now())) return 'expired';
  return key.expiresAt === undefined ? 'valid' : `until ${key.expiresAt}`;
}

async function rotate(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { overlap: { type: 'string' } },
  });
  const overlapMs =
    values.overlap === undefined ? apiKeyOverlapMsDefault : duration('--overlap', values.overlap);
  if (overlapMs > apiKeyOverlapMsMax) throw new SettingsError(['--overlap: must be at most 30d']);
  show(await withAccess(false, ({ keys: apiKeys }) => apiKeys.rotate(only(positionals), overlapMs)));
}

async function revoke(args: readonly string[]): Promise<void> {
  const { positionals } = parseArgs({ args: [...args], allowPositionals: true, options: {} });
  const { id, name } = await withAccess(false, ({ keys: apiKeys }) => apiKeys.revoke(only(positionals)));
  process.stdout.write(`API key ${id} (${name}) is revoked\n`);
}

function only(positionals: readonly string[]): string {
  const [id] = positionals;
  if (id === undefined || positionals.length > 1) {
    throw new SettingsError(['name one key by its id; "keys list" prints the ids']);
  }
  return id;
}

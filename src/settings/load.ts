import { readFileSync } from 'node:fs';
import { Ajv, type ErrorObject } from 'ajv';
import { SettingsError } from '../errors.ts';
import { accessProblems } from './access.ts';
import { type EnvironmentLeaf, isTree, leaves, lookUp, type Tree } from './leaves.ts';
import { priceProblems } from './price.ts';
import { providerProblems } from './provider-settings.ts';
import { type Settings, settingsSchema } from './schema.ts';

export interface SettingsSource {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Path of `counterfoil.json`; a missing file counts as empty. */
  readonly file: string;
  /** Whether the command is `serve --simulate`. */
  readonly simulate: boolean;
}

/** Reads the settings, adds defaults and checks them. Throws SettingsError. */
export function loadSettings({ env, file, simulate }: SettingsSource): Settings {
  const problems: string[] = [];
  const settings = readSettingsFile(file, problems);
  rejectSecretsInFile(settings, problems);
  for (const leaf of leaves) placeFromEnvironment(leaf, env, settings, problems);

  if (!validate(settings)) problems.push(...(validate.errors ?? []).flatMap(schemaProblems));
  problems.push(
    ...(problems.length === 0 ? contradictions(settings as Settings, simulate) : listProblems(settings)),
  );
  if (problems.length > 0) throw new SettingsError([...new Set(problems)]);
  return settings as Settings;
}

/** Who may create a table. In DynamoDB that takes seconds, and the account has other tables too. */
export function tablePolicy({ store, tables }: Settings): 'open' | 'declared' {
  return (tables.policy ?? (store === 'dynamodb' ? 'declared' : 'open')) as 'open' | 'declared';
}

// The compiler checks the schema's type, so validating it against the meta-schema at every start would only cost time.
const validate = new Ajv({
  allErrors: true,
  useDefaults: true,
  keywords: ['env', 'secret', 'isCommand'],
  meta: false,
  code: { optimize: false },
  validateSchema: false,
}).compile(settingsSchema);

/** The settings of a file, unchecked; problems with the file itself are added to the list. `$schema` is for editors only. */
export function readSettingsFile(file: string, problems: string[]): Tree {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    problems.push(`${file}: cannot be read (${(error as NodeJS.ErrnoException).code})`);
    return {};
  }
  try {
    const value: unknown = JSON.parse(text);
    if (isTree(value)) {
      const { $schema: schema, ...settings } = value;
      if (schema !== undefined && typeof schema !== 'string') problems.push('$schema: must be string');
      return settings;
    }
  } catch {
    // Falls through: both cases are the same problem.
  }
  problems.push(`${file}: must be a JSON object`);
  return {};
}

function rejectSecretsInFile(settings: Tree, problems: string[]): void {
  for (const { path, secret, env } of leaves) {
    if (secret && lookUp(settings, path) !== undefined) {
      problems.push(
        `${path.join('.')}: is a secret; set it as ${env} or ${env}_FILE, not in the settings file`,
      );
    }
  }
}

function placeFromEnvironment(
  leaf: EnvironmentLeaf,
  env: SettingsSource['env'],
  settings: Tree,
  problems: string[],
): void {
  const text = environmentText(leaf.env, env, problems);
  if (text === undefined) return;
  const parent = leaf.path.slice(0, -1).reduce<Tree>((tree, key) => {
    if (!isTree(tree[key])) tree[key] = {};
    return tree[key] as Tree;
  }, settings);
  parent[leaf.path.at(-1) as string] = parseValue(text, leaf.type);
}

/** An empty variable counts as not set, as in Compose files and unit files. */
function environmentText(name: string, env: SettingsSource['env'], problems: string[]): string | undefined {
  const text = env[name];
  const file = env[`${name}_FILE`];
  if (text && file) problems.push(`${name}: is set twice, as ${name} and as ${name}_FILE`);
  if (text) return text;
  if (!file) return undefined;
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    problems.push(`${name}_FILE: ${file} cannot be read (${(error as NodeJS.ErrnoException).code})`);
    return undefined;
  }
}

function parseValue(text: string, type: string | undefined): unknown {
  if (type === 'integer') return /^-?\d+$/.test(text) ? Number(text) : text;
  if (type === 'array') return text.split(',').map((part) => part.trim());
  return text;
}

function schemaProblems(error: ErrorObject): string[] {
  // The union's error follows those of its members, and is enough.
  if (error.keyword === 'const') return [];
  const path = error.instancePath.split('/').slice(1);
  if (error.keyword === 'additionalProperties') {
    path.push(String(error.params.additionalProperty));
    return [`${path.join('.')}: this setting does not exist`];
  }
  const leaf = leaves.find((candidate) => candidate.path.every((key, index) => key === path[index]));
  const name = leaf === undefined ? path.join('.') : `${leaf.path.join('.')} (${leaf.env})`;
  const meaning = leaf === undefined ? '' : `: ${leaf.description}`;
  const must =
    error.keyword === 'anyOf' ? 'must be one of the allowed values' : (error.message ?? 'is not valid');
  return [`${name}: ${must}${meaning}`];
}

/** When other settings have problems, checks hosts and files as far as their settings are readable. */
function listProblems(settings: Tree): string[] {
  const { privateIssuers, privateCa } = settings;
  return accessProblems({
    trustedProxies: [],
    corsOrigins: [],
    privateIssuers: Array.isArray(privateIssuers) ? privateIssuers.map(String) : [],
    ...(typeof privateCa === 'string' ? { privateCa } : {}),
  });
}

/** Problems between settings that are valid one by one. */
function contradictions(settings: Settings, simulate: boolean): string[] {
  const problems = accessProblems(settings);
  if (settings.payments.host !== undefined && settings.payments.port === undefined) {
    problems.push('payments.host (COUNTERFOIL_PAYMENT_HOST): needs payments.port (COUNTERFOIL_PAYMENT_PORT)');
  }
  if (settings.backup.target !== undefined && settings.store !== 'lmdb')
    problems.push('backup.target (COUNTERFOIL_BACKUP_TARGET): backups are of the embedded store (lmdb) only');
  if (settings.backup.continuous !== undefined && settings.backup.target === undefined)
    problems.push(
      'backup.continuous (COUNTERFOIL_BACKUP_CONTINUOUS): needs backup.target (COUNTERFOIL_BACKUP_TARGET)',
    );
  problems.push(...providerProblems(settings, simulate));
  if (settings.masterKeys.length > 0 && settings.masterKeyCommand !== undefined) {
    problems.push(
      'masterKeyCommand (COUNTERFOIL_MASTER_KEY_COMMAND): masterKeys (COUNTERFOIL_MASTER_KEY) already sets the keys',
    );
  }
  for (const alias of settings.tables.aliases) {
    if (['table', 'create', 'service', 'auth'].includes(alias)) {
      problems.push(`tables.aliases (COUNTERFOIL_TABLE_ALIASES): "${alias}" already has a meaning under /v3`);
    }
  }
  const { declared } = settings.tables;
  const policy = tablePolicy(settings);
  if (settings.store === 'dynamodb' && policy === 'open' && settings.dynamodb.tablePrefix === '') {
    problems.push(
      'tables.policy (COUNTERFOIL_TABLES): open needs dynamodb.tablePrefix (COUNTERFOIL_DYNAMODB_TABLE_PREFIX); ' +
        'without it, callers could read and write any table of the account',
    );
  }
  const tables = {
    canExist: (name: string) => policy === 'open' || declared.includes(name),
    ofItems: new Set(Object.values(settings.payments.routes).map(({ on_success }) => on_success?.table)),
  };
  for (const [route, rules] of Object.entries(settings.payments.routes)) {
    const { minimum = 1, maximum = Infinity, on_success } = rules;
    problems.push(
      ...priceProblems(rules, tables).map((problem) => `payments.routes.${route}.price: ${problem}`),
    );
    if (minimum > maximum) problems.push(`payments.routes.${route}: minimum is above maximum`);
    if (on_success !== undefined && policy === 'declared' && !declared.includes(on_success.table)) {
      problems.push(`payments.routes.${route}.on_success.table: is not among the declared tables`);
    }
  }
  return problems;
}

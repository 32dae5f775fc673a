import { allLeaves, isTree, type Leaf, lookUp, type Tree } from './leaves.ts';
import { loadSettings, readSettingsFile, type SettingsSource } from './load.ts';

/** Where a value comes from: a variable, the file that a variable names, the settings file, or nowhere. */
type SettingOrigin = 'environment' | 'environment_file' | 'file' | 'default';

/** A setting in force, safe to show. */
export interface ReportedSetting {
  /** Its path in the settings file: `tables.policy`. */
  readonly name: string;
  /** The environment variable that sets it; undefined if only the file can. */
  readonly variable: string | undefined;
  readonly isSecret: boolean;
  readonly isSet: boolean;
  /** Undefined if it is a secret, or not set. Credentials within a value are masked. */
  readonly value: unknown;
  readonly origin: SettingOrigin;
}

/** All settings in force, in schema order. Throws SettingsError if any is invalid. */
export function reportSettings(source: SettingsSource): readonly ReportedSetting[] {
  const settings = loadSettings(source) as Tree;
  const file = readSettingsFile(source.file, []);
  return allLeaves.map((leaf) => {
    const value = lookUp(settings, leaf.path);
    return {
      name: leaf.path.join('.'),
      variable: leaf.env,
      isSecret: leaf.secret,
      isSet: value !== undefined && !(Array.isArray(value) && value.length === 0),
      value: leaf.secret ? undefined : shown(leaf, value),
      origin: settingOrigin(leaf, source.env, file),
    };
  });
}

/** The order in which `loadSettings` looks. */
function settingOrigin({ env: name, path }: Leaf, env: SettingsSource['env'], file: Tree): SettingOrigin {
  if (name !== undefined && env[name]) return 'environment';
  if (name !== undefined && env[`${name}_FILE`]) return 'environment_file';
  return lookUp(file, path) === undefined ? 'default' : 'file';
}

/** Masks what may hold a credential within a value that is no secret: arguments of a command, and parts of a URL. */
function shown({ isCommand }: Leaf, value: unknown): unknown {
  if (isCommand && typeof value === 'string') return value.replace(/ .*$/s, ' …');
  return maskedUrls(value);
}

function maskedUrls(value: unknown): unknown {
  if (typeof value === 'string' && /^https?:/.test(value))
    return value.replace(/\/\/[^/?#]*@/, '//…@').replace(/\?.*$/s, '?…');
  if (Array.isArray(value)) return value.map(maskedUrls);
  if (isTree(value))
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, maskedUrls(inner)]));
  return value;
}

import { settingsSchema } from './schema.ts';

/** The settings one by one, as the schema nests them. */

/** One setting. */
export interface Leaf {
  readonly path: readonly string[];
  readonly type: string | undefined;
  /** Undefined for a setting that only the file can have. */
  readonly env: string | undefined;
  readonly secret: boolean;
  readonly isCommand: boolean;
  readonly description: string;
  readonly default: unknown;
}

export type EnvironmentLeaf = Leaf & { readonly env: string };

interface SchemaNode {
  readonly type?: string;
  readonly env?: string;
  readonly secret?: boolean;
  readonly isCommand?: boolean;
  readonly description?: string;
  readonly default?: unknown;
  readonly properties?: Record<string, SchemaNode>;
}

export type Tree = Record<string, unknown>;

/** Every setting, in schema order. */
export const allLeaves: readonly Leaf[] = collectLeaves(settingsSchema as SchemaNode, []);

/** The settings that an environment variable can set. */
export const leaves: readonly EnvironmentLeaf[] = allLeaves.filter(
  (leaf): leaf is EnvironmentLeaf => leaf.env !== undefined,
);

function collectLeaves(node: SchemaNode, path: readonly string[]): Leaf[] {
  if (node.env === undefined && node.properties !== undefined)
    return Object.entries(node.properties).flatMap(([key, child]) => collectLeaves(child, [...path, key]));
  const { type, env, secret = false, isCommand = false, description = '' } = node;
  return [{ path, type, env, secret, isCommand, description, default: node.default }];
}

/** The value at a path; undefined if there is none. */
export function lookUp(tree: Tree, path: readonly string[]): unknown {
  return path.reduce<unknown>((node, key) => (isTree(node) ? node[key] : undefined), tree);
}

export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { type Ended, runCommand } from '../command.ts';
import { newDataFolder, startTestService, type TestService } from '../service.ts';
import type { Item } from './filled-tables.ts';

/** Where `counterfoil tables …` works: on the store of a running service, or through its HTTP interface. */
export const places = ['store', 'service'] as const;
export type Place = (typeof places)[number];

export interface TableCommands {
  readonly service: TestService;
  /** The environment of the commands. */
  readonly env: Readonly<Record<string, string>>;
  /** The folder of the commands. */
  readonly folder: string;
  /** The options that every command gets. */
  readonly options: readonly string[];
  run(...args: string[]): Promise<Ended>;
  /** Runs a command with this standard input. */
  feed(input: string | Buffer, ...args: string[]): Promise<Ended>;
  read(table: string): Promise<Item[]>;
  /** Runs a command that must fail with status 1, and returns the error that it prints with `--json`. */
  errorOf(
    input: string | Buffer,
    ...args: string[]
  ): Promise<{ readonly code: string; readonly message: string }>;
}

/** A running service, and commands on its tables. */
export async function startTableCommands(t: TestContext, place: Place): Promise<TableCommands> {
  const data = newDataFolder(t);
  const folder = newDataFolder(t);
  mkdirSync(folder, { recursive: true });
  const service = await startTestService(t, { data });
  const env: Record<string, string> = place === 'store' ? { COUNTERFOIL_DATA: data } : {};
  const options = place === 'store' ? [] : ['--url', service.origin];
  const feed = (input: string | Buffer, ...args: string[]) =>
    runCommand(['tables', ...args, ...options], env, folder, input);
  return {
    ...{ service, env, folder, options, feed },
    run: (...args) => feed('', ...args),
    read: async (table) => (await service.get(`/v3/table/${table}/read`)).json.body,
    errorOf: async (input, ...args) => {
      const { status, output, errors } = await feed(input, ...args, '--json');
      assert.deepEqual([status, output], [1, ''], errors);
      return JSON.parse(errors).error;
    },
  };
}

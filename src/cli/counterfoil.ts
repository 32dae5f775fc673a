#!/usr/bin/env node
import { enableCompileCache } from 'node:module';

// Caches compiled code between starts, which more than halves the time to the first response.
enableCompileCache();
// Only the user of this process can read the files that it writes.
process.umask(0o077);

const usage = `Usage: counterfoil <command>

  serve      serve payments, tables and sign-in
    --simulate     with a payment processor that moves no money
    --workers N    in N processes on one port and one data folder; auto: one for each core
  payments   list, show, refund, cancel, resolve and reconcile payments; see "payments help"
  store      make a store in DynamoDB, or copy one store to another; see "store help"
  secrets    show, rotate and retire the master keys; see "secrets help"
  doctor     check settings, store, master keys, secrets and clock, and print what to do
  keys       create, list, rotate and revoke API keys; see "keys help"
  users      list, show and delete users; see "users help"
  sessions   list and end sessions; see "sessions help"
  audit      list what administrators have done; see "audit help"
  verify     read the whole store and print each damage; works while the service is running
  version    print the version
  help       print this text
`;

type Command = (args: readonly string[]) => void | Promise<void>;

/** Each module is loaded on demand, so that no command waits for the imports of another one. */
const commands: Readonly<Record<string, Command>> = {
  serve: async (args) => (await import('./serve.ts')).serve(args),
  worker: async (args) => (await import('./serve.ts')).work(args),
  payments: async (args) => (await import('./payments.ts')).payments(args),
  store: async (args) => (await import('./store.ts')).store(args),
  secrets: async (args) => (await import('./secrets.ts')).secrets(args),
  doctor: async (args) => (await import('./doctor.ts')).doctor(args),
  keys: async (args) => (await import('./keys.ts')).keys(args),
  users: async (args) => (await import('./users.ts')).users(args),
  sessions: async (args) => (await import('./sessions.ts')).sessions(args),
  audit: async (args) => (await import('./audit.ts')).audit(args),
  verify: async (args) => (await import('./verify.ts')).verify(args),
  version: async () => {
    process.stdout.write(`${(await import('../version.ts')).version}\n`);
  },
  help: () => {
    process.stdout.write(usage);
  },
};

const [name = 'help', ...rest] = process.argv.slice(2);
const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
if (command === undefined) {
  process.stderr.write(`counterfoil: there is no command "${name}"\n\n${usage}`);
  process.exitCode = 2;
} else await command(rest);

#!/usr/bin/env node
import { enableCompileCache } from 'node:module';

// Compiled code is kept between starts: it more than halves the time to the first answer.
enableCompileCache();
// Whatever it writes, only its own user reads.
process.umask(0o077);

const usage = `Usage: counterfoil <command>

  serve      serve payments, tables and sign-in
    --simulate     with a payment processor that moves no money
    --workers N    in N processes on one port and one data folder; auto: one for each core
  payments   list, show, refund, cancel, resolve and reconcile payments; "payments help" tells more
  store      make a store in DynamoDB, or copy one to another; "store help" tells more
  secrets    tell, rotate and retire the master keys; "secrets help" tells more
  doctor     check settings, store, master keys, secrets and clock, and tell what to do
  keys       create, list, rotate and revoke API keys; "keys help" tells more
  users      list, show and delete users; "users help" tells more
  sessions   list and end sessions; "sessions help" tells more
  audit      list what administrators have done; "audit help" tells more
  verify     walk the whole store and tell what is wrong with it; the service may be running
  version    print the version
  help       print this text
`;

type Command = (args: readonly string[]) => void | Promise<void>;

/** Each is loaded when it is asked for, so that none waits for what another one needs. */
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

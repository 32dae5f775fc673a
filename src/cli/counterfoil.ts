#!/usr/bin/env node
import { enableCompileCache } from 'node:module';

// Compiled code is kept between starts: it more than halves the time to the first answer.
enableCompileCache();

const usage = `Usage: counterfoil <command>

  serve      serve payments, tables and sign-in
    --simulate     with a payment processor that moves no money
    --workers N    in N processes on one port and one data folder; auto: one for each core
  payments   list, show, refund and reconcile payments; "payments help" tells more
  store      make a store in DynamoDB, or copy one to another; "store help" tells more
  secrets    tell, rotate and retire the master keys; "secrets help" tells more
  doctor     check settings, store, master keys, secrets and clock, and tell what to do
  keys       create, list, rotate and revoke API keys; "keys help" tells more
  audit      list what administrators have done; "audit help" tells more
  verify     walk the whole store and tell what is wrong with it; the service may be running
  version    print the version
  help       print this text
`;

const [command, ...rest] = process.argv.slice(2);

switch (command) {
  case 'serve': {
    const { serve } = await import('./serve.ts');
    await serve(rest);
    break;
  }
  case 'worker': {
    const { work } = await import('./serve.ts');
    await work(rest);
    break;
  }
  case 'payments': {
    const { payments } = await import('./payments.ts');
    await payments(rest);
    break;
  }
  case 'store': {
    const { store } = await import('./store.ts');
    await store(rest);
    break;
  }
  case 'secrets': {
    const { secrets } = await import('./secrets.ts');
    await secrets(rest);
    break;
  }
  case 'doctor': {
    const { doctor } = await import('./doctor.ts');
    await doctor(rest);
    break;
  }
  case 'keys': {
    const { keys } = await import('./keys.ts');
    await keys(rest);
    break;
  }
  case 'audit': {
    const { audit } = await import('./audit.ts');
    await audit(rest);
    break;
  }
  case 'verify': {
    const { verify } = await import('./verify.ts');
    await verify(rest);
    break;
  }
  case 'version': {
    const { version } = await import('../version.ts');
    process.stdout.write(`${version}\n`);
    break;
  }
  case 'help':
  case undefined:
    process.stdout.write(usage);
    break;
  default:
    process.stderr.write(`counterfoil: there is no command "${command}"\n\n${usage}`);
    process.exitCode = 2;
}

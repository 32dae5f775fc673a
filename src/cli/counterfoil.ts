#!/usr/bin/env node
import { enableCompileCache } from 'node:module';

// Compiled code is kept between starts: it more than halves the time to the first answer.
enableCompileCache();

const usage = `Usage: counterfoil <command>

  serve [--simulate]   serve payments, tables and sign-in; --simulate adds a payment processor that moves no money
  version              print the version
  help                 print this text
`;

const [command, ...rest] = process.argv.slice(2);

switch (command) {
  case 'serve': {
    const { serve } = await import('./serve.ts');
    await serve(rest);
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

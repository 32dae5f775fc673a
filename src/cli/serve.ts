import { parseArgs } from 'node:util';
import { SettingsError } from '../errors.ts';
import { startService } from '../main.ts';
import { loadSettings } from '../settings/load.ts';

/** `counterfoil serve`: runs until SIGTERM or SIGINT. Wrong settings are all listed, exit 2. */
export async function serve(args: readonly string[]): Promise<void> {
  try {
    const { simulate } = parseArgs({ args: [...args], options: { simulate: { type: 'boolean' } } }).values;
    await run(simulate ?? false);
  } catch (error) {
    for (const line of problemsOf(error)) process.stderr.write(`counterfoil: ${line}\n`);
    process.exitCode = 2;
  }
}

async function run(simulate: boolean): Promise<void> {
  const settings = loadSettings({ env: process.env, file: 'counterfoil.json', simulate });
  const service = await startService(settings, { simulate });
  const payments = service.paymentOrigin === service.origin ? '' : `, payments on ${service.paymentOrigin}`;
  const simulated = simulate ? ', with a simulated processor that moves no money' : '';
  process.stdout.write(`Counterfoil is ready on ${service.origin}${payments}${simulated}\n`);

  const stop = () => {
    // A second signal is the operator's last word.
    process.once('SIGTERM', () => process.exit(1)).once('SIGINT', () => process.exit(1));
    void service.stop().then(() => process.exit(0));
  };
  process.once('SIGTERM', stop).once('SIGINT', stop);
}

/** What an operator can mend; anything else is thrown on, with its stack. */
function problemsOf(error: unknown): readonly string[] {
  if (error instanceof SettingsError) return error.problems;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code?.startsWith('ERR_PARSE_ARGS')) return [message];
  if (code === 'EADDRINUSE') return ['port (PORT): another program already listens there'];
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return ['host (HOST): is no address of this machine'];
  if (code === 'EACCES' || code === 'EROFS') return [`data (COUNTERFOIL_DATA): cannot be written (${code})`];
  throw error;
}

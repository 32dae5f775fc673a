import { ServiceError, SettingsError } from '../errors.ts';

/** Writes what an operator can mend, a line each, and ends with status 2; anything else is thrown on, with its stack. */
export function reportProblems(error: unknown): void {
  for (const line of problemsOf(error)) process.stderr.write(`counterfoil: ${line}\n`);
  process.exitCode = 2;
}

function problemsOf(error: unknown): readonly string[] {
  if (error instanceof SettingsError) return error.problems;
  if (error instanceof ServiceError) return [error.message];
  const { code, message } = error as NodeJS.ErrnoException;
  if (code?.startsWith('ERR_PARSE_ARGS')) return [message];
  if (code === 'EADDRINUSE') return ['port (PORT): another program already listens there'];
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return ['host (HOST): is no address of this machine'];
  if (code === 'EACCES' || code === 'EROFS') return [`data (COUNTERFOIL_DATA): cannot be written (${code})`];
  throw error;
}

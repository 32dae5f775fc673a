import { ServiceError, SettingsError } from '../errors.ts';

/** Writes each problem that an operator can fix as a line, and sets exit status 2. Rethrows any other error. */
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
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return ['host (HOST): is not an address of this machine'];
  if (code === 'EACCES' || code === 'EROFS') return [`data (COUNTERFOIL_DATA): cannot be written (${code})`];
  throw error;
}

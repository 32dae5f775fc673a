import { ServiceError, SettingsError } from '../errors.ts';

/**
 * Writes each problem that an operator can fix as a line, and sets the exit status: 1 for a damaged store, 2 for the others.
 * Rethrows any other error.
 */
export function reportProblems(error: unknown): void {
  for (const line of problemsOf(error)) process.stderr.write(`counterfoil: ${line}\n`);
  process.exitCode = isOfLmdb(error) ? 1 : 2;
}

/** LMDB's own errors have negative numbers as codes (lmdb.h, Return Codes). */
function isOfLmdb(error: unknown): error is Error {
  const { code } = error as { readonly code?: unknown };
  return error instanceof Error && typeof code === 'number' && code < 0;
}

function problemsOf(error: unknown): readonly string[] {
  if (error instanceof SettingsError) return error.problems;
  if (error instanceof ServiceError) return [error.message];
  if (isOfLmdb(error))
    return [`data (COUNTERFOIL_DATA): the store cannot be read (${error.message}); run "counterfoil verify"`];
  const { code, message } = error as NodeJS.ErrnoException;
  if (code?.startsWith('ERR_PARSE_ARGS')) return [message];
  if (code === 'EADDRINUSE') return ['port (PORT): another program already listens there'];
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return ['host (HOST): is not an address of this machine'];
  if (code === 'EACCES' || code === 'EROFS') return [`data (COUNTERFOIL_DATA): cannot be written (${code})`];
  throw error;
}

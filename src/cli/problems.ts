import { BackupFailed } from '../backup/target.ts';
import {
  DamagedStoreError,
  damageAdvice,
  errorKinds,
  ServiceError,
  SettingsError,
  TransientError,
} from '../errors.ts';
import { printable } from './output/terminal-text.ts';

/** The work of a command failed: exit status 1. */
export class WorkFailed extends Error {
  readonly code: string;

  /** @param code in snake case, for programs that read `--json` */
  constructor(code: string, message: string) {
    super(message);
    this.name = 'WorkFailed';
    this.code = code;
  }
}

/** The command line is wrong: exit status 2. */
export class UsageError extends Error {}

interface Problem {
  readonly status: 1 | 2;
  readonly code: string;
  /** A line for each problem. */
  readonly lines: readonly string[];
}

/**
 * Writes each problem that an operator can fix as a line, or with `json` all of them as one JSON object, to standard error, and
 * sets the exit status: 2 if the command line or the settings are wrong, 1 if the work failed or what it needs is out of reach. Rethrows any other error.
 */
export function reportProblems(error: unknown, json = false): void {
  if (isCommanderError(error) && error.exitCode === 0) return;
  const { status, code, lines } = describeProblem(error);
  process.exitCode = status;
  const text = json
    ? `${printable(JSON.stringify({ error: { code, message: lines.join('\n') } }))}\n`
    : lines.map((line) => `counterfoil: ${printable(line)}\n`).join('');
  process.stderr.write(text);
}

/** Commander throws also when it has printed the help or the version; then its exit code is 0. */
function isCommanderError(
  error: unknown,
): error is Error & { readonly code: string; readonly exitCode: number } {
  return error instanceof Error && String((error as NodeJS.ErrnoException).code).startsWith('commander.');
}

function describeProblem(error: unknown): Problem {
  if (error instanceof UsageError) return { status: 2, code: 'usage', lines: [error.message] };
  if (isCommanderError(error)) return { status: 2, code: 'usage', lines: [usageLine(error)] };
  if (error instanceof DamagedStoreError)
    return { status: 1, code: 'store_damaged', lines: [...error.problems, damageAdvice] };
  if (error instanceof SettingsError) return { status: 2, code: 'invalid_settings', lines: error.problems };
  if (error instanceof TransientError) return { status: 1, code: 'unavailable', lines: [error.message] };
  if (error instanceof WorkFailed || error instanceof BackupFailed)
    return { status: 1, code: error.code, lines: [error.message] };
  if (error instanceof ServiceError)
    return { status: exitStatus(error), code: error.code, lines: [serviceErrorLine(error)] };
  return systemProblem(error);
}

/** The message of `internal` refers to the log, which a command does not have. */
function serviceErrorLine({ code, message, details }: ServiceError): string {
  return code === 'internal' ? (details.detail ?? message) : message;
}

/** What the command line or the settings name is wrong, or the work failed. */
function exitStatus({ code }: ServiceError): 1 | 2 {
  return errorKinds[code].type === 'invalid_request' || code === 'processor_not_configured' ? 2 : 1;
}

/** Commander writes a suggestion on a line of its own. Without a subcommand it shows the help, and reports only that. */
function usageLine({ code, message }: { readonly code: string; readonly message: string }): string {
  if (code === 'commander.help') return 'name a command';
  return message.replace(/^error: /, '').replaceAll('\n', ' ');
}

/** Errors of files: too many are open, or the disk does not respond. */
const cannotOpen: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'EIO', 'ENOMEM', 'EBUSY', 'ESTALE']);

function systemProblem(error: unknown): Problem {
  if (isLmdbError(error)) return lmdbProblem(error);
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EACCES')
    return {
      status: 2,
      code: 'invalid_settings',
      lines: ['data (COUNTERFOIL_DATA): cannot be opened or written (EACCES)'],
    };
  if (code !== undefined && cannotOpen.has(code)) {
    const line = `data (COUNTERFOIL_DATA): the store cannot be opened now (${code}); this does not show that it is damaged`;
    return { status: 1, code: 'store_not_opened', lines: [line] };
  }
  const line = temporaryProblem(code);
  if (line === undefined) throw error;
  return { status: 1, code: 'unavailable', lines: [line] };
}

/** LMDB's errors have numbers as codes: its own are negative (lmdb.h, Return Codes), those of the system are errno. */
function isLmdbError(error: unknown): error is Error & { readonly code: number } {
  return error instanceof Error && typeof (error as { readonly code?: unknown }).code === 'number';
}

/** Limits that LMDB has reached: MDB_READERS_FULL, MDB_MAP_FULL, MDB_DBS_FULL, MDB_TXN_FULL, MDB_TLS_FULL, MDB_MAP_RESIZED. */
const lmdbLimits: ReadonlySet<number> = new Set([-30790, -30792, -30791, -30788, -30789, -30785]);

function lmdbProblem({ code, message }: Error & { readonly code: number }): Problem {
  const isDamage = code < 0 && !lmdbLimits.has(code);
  const line = isDamage
    ? `data (COUNTERFOIL_DATA): the store cannot be read (${message}); ${damageAdvice}`
    : `data (COUNTERFOIL_DATA): the store cannot be opened now (${message}); this does not show that it is damaged`;
  return { status: 1, code: isDamage ? 'store_damaged' : 'store_not_opened', lines: [line] };
}

/** A problem that may pass without a change of the settings, so that another start may succeed. */
function temporaryProblem(code: string | undefined): string | undefined {
  if (code === 'EADDRINUSE') return 'port (PORT): another program already listens there';
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return 'host (HOST): is not an address of this machine';
  if (code === 'EROFS' || code === 'ENOSPC' || code === 'EDQUOT')
    return `data (COUNTERFOIL_DATA): cannot be written (${code})`;
  return undefined;
}

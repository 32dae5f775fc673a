import { type DestinationStream, pino } from 'pino';

/**
 * All fields of a log line. A field that is not listed here cannot be logged, so that no body, header, token or secret
 * reaches the log by mistake.
 */
export interface LogFields {
  readonly request_id?: string;
  readonly method?: string;
  /** The pattern of the route, never the requested path. */
  readonly route?: string;
  readonly status?: number;
  readonly duration_ms?: number;
  readonly code?: string;
  readonly detail?: string | undefined;
  readonly error_name?: string;
  /** The stack frames of an unforeseen error, without its message. */
  readonly error_frames?: readonly string[];
  readonly payment_id?: string;
  readonly refund_id?: string | undefined;
  /** Of a processor's event. */
  readonly event_id?: string;
  readonly processor?: string;
  readonly state?: string;
  readonly pid?: number;
  /** The address that sent a rejected request. */
  readonly address?: string;
  readonly key_id?: string;
  /** Rejected requests of the same code and address that were not logged since the last logged one. */
  readonly left_out?: number;
}

const allowed: ReadonlySet<string> = new Set([
  'request_id',
  'method',
  'route',
  'status',
  'duration_ms',
  'code',
  'detail',
  'error_name',
  'error_frames',
  'payment_id',
  'refund_id',
  'event_id',
  'processor',
  'state',
  'pid',
  'address',
  'key_id',
  'left_out',
] satisfies (keyof LogFields)[]);

export interface Log {
  /** Whether `debug` lines are written. Every successful request writes one. */
  readonly logsDetails: boolean;
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** Writes out what is still in memory. */
  flush(): void;
}

type LogDestination = DestinationStream & { readonly flushSync?: () => void };

function standardError(): LogDestination {
  return pino.destination({ dest: 2, sync: false });
}

/**
 * A log for the last lines of a process that is about to be killed: each line is written when the call returns. A line of
 * `openLog` may still be in another thread then, where no flush reaches it.
 */
export function openLastLog(level: string): Log {
  return openLog(level, pino.destination({ dest: 2, sync: true }));
}

/** Writes structured lines to standard error. Standard output is for the output of a command. */
export function openLog(level: string, destination: LogDestination = standardError()): Log {
  const logger = pino(
    {
      level,
      base: null,
      messageKey: 'event',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: onlyAllowed },
    },
    destination,
  );
  return {
    logsDetails: logger.isLevelEnabled('debug'),
    debug: (event, fields = {}) => logger.debug(fields, event),
    info: (event, fields = {}) => logger.info(fields, event),
    warn: (event, fields = {}) => logger.warn(fields, event),
    error: (event, fields = {}) => logger.error(fields, event),
    flush: () => destination.flushSync?.(),
  };
}

function onlyAllowed(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => allowed.has(name)));
}

/** Name and stack frames of an unforeseen error. Its message is not logged: it may quote what a caller sent. */
export function errorFields(error: unknown): LogFields {
  if (!(error instanceof Error)) return { error_name: typeof error };
  const stack = error.stack ?? '';
  // The message may contain lines that look like frames.
  const messageEnd = stack.indexOf(error.message) + error.message.length;
  const frames = stack.startsWith(error.name)
    ? stack
        .slice(messageEnd)
        .split('\n')
        .filter((line) => /^\s+at /.test(line))
    : [];
  return { error_name: error.name, error_frames: frames.slice(0, 10).map((line) => line.trim()) };
}

import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import type { Access } from '../../access/scopes.ts';
import { failure, type LegacyErrorFields } from '../../envelope.ts';
import { invalidRequest, ServiceError } from '../../errors.ts';
import { errorFields, type Log, type LogFields } from '../../log.ts';
import { isPlainName } from '../../strict-json.ts';
import { sendEnvelope, sendText } from '../response/send.ts';
import { RepeatedError, withHeaders } from './error-response.ts';
import type { RejectionLog } from './rejection-log.ts';
import type { RequestCounts } from './route-table.ts';
import { errorHeaders } from './security-headers.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    legacyErrorFields?: LegacyErrorFields;
    /** The access that a request requires. Adding a route without it fails. */
    access?: Access;
  }
  interface FastifyInstance {
    /** Counts an error response. */
    readonly requestCounts: RequestCounts;
    /** Logs rejected requests, so that nobody can flood the log. */
    readonly rejections: RejectionLog;
    /** Logs the error that ended a started response, unless its reader has disconnected. */
    logBrokenResponse(error: unknown, request: FastifyRequest, reply: FastifyReply): void;
  }
}

/** Sends a thrown error in the envelope, as an error of the closed list. */
export function sendError(
  log: Log,
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  legacyFields: LegacyErrorFields | undefined = request.route.config.legacyErrorFields,
): FastifyReply {
  const error = withHeaders(asServiceError(thrown));
  logFailure(log, error, request, reply);
  const { retryAfterSeconds, headers = {} } = error.details;
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds));
  reply.headers(errorHeaders).headers(headers);
  return error instanceof RepeatedError
    ? sendText(reply, error.status, error.text(request.id, legacyFields))
    : sendEnvelope(reply, failure(error, request.id, legacyFields));
}

export function logFailure(
  log: Log,
  error: ServiceError,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { code, status, details } = error;
  request.server.requestCounts.failed(error, request.method, request.route.url);
  const fields = () => ({
    ...requestFields(request, reply),
    status,
    code,
    detail: details.detail,
    // An operator must be able to find callers that attempt what they may not do, or attempt it too often.
    ...(status === 401 || status === 403 || status === 429 ? callerFields(request) : {}),
  });
  if (code === 'internal') log.error('unforeseen_error', { ...fields(), ...errorFields(details.cause) });
  else if (!details.isRoutine) request.server.rejections.note(code, request, fields);
  else if (log.logsDetails) log.debug('request', fields());
}

function callerFields({ address, caller }: FastifyRequest): LogFields {
  return { address, ...(caller === null || caller.id === '' ? {} : { key_id: caller.id }) };
}

/** Log fields of a request: the pattern of the route, never the requested path. */
export function requestFields(request: FastifyRequest, reply: FastifyReply): LogFields {
  return {
    request_id: request.id,
    method: request.method,
    route: request.route.url ?? 'none',
    status: reply.statusCode,
    duration_ms: Math.round(reply.elapsedTime * 1000) / 1000,
  };
}

const endedEarly = 'The connection ended before the request did.';
const connectionEnds: readonly unknown[] = [
  // A write was pending when the socket was closed.
  'ECANCELED',
  'ECONNRESET',
  'EPIPE',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
];

/** Whether the peer has disconnected. That is no failure of the service, and nobody receives the response. */
export function isConnectionEnd(thrown: unknown): boolean {
  return thrown instanceof Error && connectionEnds.includes((thrown as NodeJS.ErrnoException).code);
}

export function asServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  if (isConnectionEnd(thrown)) return invalidRequest(undefined, endedEarly);
  const { code, validation, validationContext } = (thrown ?? {}) as Partial<FastifyError>;
  const broken = validation?.[0];
  if (broken !== undefined) return validationError(broken, validationContext ?? 'request');
  switch (code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new ServiceError('unsupported_media_type', { param: 'Content-Type' });
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new ServiceError('body_too_large');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return invalidRequest('Content-Length', 'The body is not as long as Content-Length says.');
    case 'FST_ERR_BAD_URL':
      return invalidRequest(undefined, 'The path is not valid percent-encoded UTF-8.');
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return invalidRequest(undefined, 'A segment of the path is longer than any valid name.');
    default:
      return new ServiceError('internal', { cause: thrown });
  }
}

type Broken = NonNullable<FastifyError['validation']>[number];

/** The error for a schema violation. Its message repeats no value of the request. */
function validationError({ keyword, params, instancePath, message }: Broken, place: string): ServiceError {
  const field = instancePath.slice(1).replaceAll('/', '.');
  switch (keyword) {
    case 'required': {
      const name = within(field, String(params.missingProperty));
      return invalidRequest(name, `${name} is required.`);
    }
    case 'additionalProperties':
      return invalidRequest(
        within(field, plainName(String(params.additionalProperty))),
        place === 'body'
          ? 'The body has a field that this operation does not support.'
          : 'The query has a parameter that this operation does not support.',
      );
    case 'type':
      if (field === '') return invalidRequest(undefined, `The ${place} must be a JSON object.`);
      return invalidRequest(field, `${field} must be a ${String(params.type)}.`);
    case 'minLength':
      return invalidRequest(field, `${field} must not be empty.`);
    default:
      return invalidRequest(field, `${field} ${message ?? 'is not valid'}.`);
  }
}

/** The path of a field in an object that may itself be a field. */
function within(field: string, name: string | undefined): string | undefined {
  if (field === '' || name === undefined) return name ?? (field === '' ? undefined : field);
  return `${field}.${name}`;
}

function plainName(name: string): string | undefined {
  return isPlainName(name) ? name : undefined;
}

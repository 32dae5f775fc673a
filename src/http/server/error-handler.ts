import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import type { Access } from '../../access/scopes.ts';
import { type FieldsBesideError, failure } from '../../envelope.ts';
import { ServiceError } from '../../errors.ts';
import { errorFields, type Log, type LogFields } from '../../log.ts';
import { sendEnvelope } from '../response/send.ts';
import type { RejectionLog } from './rejection-log.ts';
import { errorHeaders } from './security-headers.ts';
import { isPlainName } from './strict-json.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The documented fields of the operation, as they read on a failure. */
    besideError?: FieldsBesideError;
    /** What a request needs to come in; a route that does not say it is refused when it is added. */
    access?: Access;
  }
  interface FastifyInstance {
    /** Counts what was refused, or failed. */
    countFailure(error: ServiceError, request: FastifyRequest): void;
    /** Logs rejected requests, so that nobody can flood the log. */
    readonly rejections: RejectionLog;
    /** Logs what ended an answer that was under way, unless its reader has gone. */
    tellBrokenAnswer(error: unknown, request: FastifyRequest, reply: FastifyReply): void;
  }
}

/** Answers whatever was thrown on the way: in the envelope, by the closed list. */
export function sendError(
  log: Log,
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  besideError: FieldsBesideError | undefined = request.routeOptions.config?.besideError,
): FastifyReply {
  const error = asServiceError(thrown);
  logFailure(log, error, request, reply);
  const { retryAfterSeconds, headers = {} } = error.details;
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds));
  reply.headers(errorHeaders).headers(headers);
  return sendEnvelope(reply, failure(error, request.id, besideError));
}

export function logFailure(
  log: Log,
  error: ServiceError,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { code, status, details } = error;
  request.server.countFailure(error, request);
  const fields: LogFields & { readonly status: number } = {
    ...requestFields(request, reply),
    status,
    code,
    detail: details.detail,
    // Who tries what is not theirs, or too often, must be found.
    ...(status === 401 || status === 403 || status === 429 ? callerFields(request) : {}),
  };
  if (code === 'internal') log.error('unforeseen_error', { ...fields, ...errorFields(details.cause) });
  else request.server.rejections.note(code, request.address, fields);
}

function callerFields({ address, caller }: FastifyRequest): LogFields {
  return { address, ...(caller === null || caller.id === '' ? {} : { key_id: caller.id }) };
}

/** The pattern of the route, never the path that was asked for. */
export function requestFields(request: FastifyRequest, reply: FastifyReply): LogFields {
  return {
    request_id: request.id,
    method: request.method,
    route: request.routeOptions.url ?? 'none',
    status: reply.statusCode,
    duration_ms: Math.round(reply.elapsedTime * 1000) / 1000,
  };
}

const endedEarly = 'The connection ended before the request did.';
const connectionEnds: readonly unknown[] = [
  // What was to be written when the socket was closed.
  'ECANCELED',
  'ECONNRESET',
  'EPIPE',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
];

/** The peer has gone: no fault of ours, and nobody hears what is answered. */
export function isConnectionEnd(thrown: unknown): boolean {
  return thrown instanceof Error && connectionEnds.includes((thrown as NodeJS.ErrnoException).code);
}

export function asServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  if (isConnectionEnd(thrown)) return new ServiceError('invalid_request', { message: endedEarly });
  const { code, validation, validationContext } = (thrown ?? {}) as Partial<FastifyError>;
  const broken = validation?.[0];
  if (broken !== undefined) return refusalOfValidation(broken, validationContext ?? 'request');
  switch (code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new ServiceError('unsupported_media_type', { param: 'Content-Type' });
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new ServiceError('body_too_large');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new ServiceError('invalid_request', {
        param: 'Content-Length',
        message: 'The body is not as long as Content-Length says.',
      });
    case 'FST_ERR_BAD_URL':
      return new ServiceError('invalid_request', {
        message: 'The path has a percent sign that encodes no UTF-8.',
      });
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new ServiceError('invalid_request', {
        message: 'A part of the path is longer than any name can be.',
      });
    default:
      return new ServiceError('internal', { cause: thrown });
  }
}

type Broken = NonNullable<FastifyError['validation']>[number];

/** A sentence for what the schema refused; it repeats no value that was sent. */
function refusalOfValidation(
  { keyword, params, instancePath, message }: Broken,
  place: string,
): ServiceError {
  const field = instancePath.slice(1).replaceAll('/', '.');
  switch (keyword) {
    case 'required':
      return refused(within(field, String(params.missingProperty)), (name) => `${name} is required.`);
    case 'additionalProperties':
      return refused(within(field, plainName(String(params.additionalProperty))), () =>
        place === 'body'
          ? 'The body has a field that this operation does not take.'
          : 'The query has a parameter that this operation does not take.',
      );
    case 'type':
      if (field === '')
        return new ServiceError('invalid_request', { message: `The ${place} must be a JSON object.` });
      return refused(field, (name) => `${name} must be a ${String(params.type)}.`);
    case 'minLength':
      return refused(field, (name) => `${name} must not be empty.`);
    default:
      return refused(field, (name) => `${name} ${message ?? 'is not valid'}.`);
  }
}

function refused(param: string | undefined, message: (name: string | undefined) => string): ServiceError {
  return new ServiceError('invalid_request', { param, message: message(param) });
}

/** A field of an object that is itself a field. */
function within(field: string, name: string | undefined): string | undefined {
  if (field === '' || name === undefined) return name ?? (field === '' ? undefined : field);
  return `${field}.${name}`;
}

function plainName(name: string): string | undefined {
  return isPlainName(name) ? name : undefined;
}

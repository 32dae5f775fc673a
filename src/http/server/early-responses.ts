import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { type Envelope, failure, jsonContentType, type LegacyErrorFields, success } from '../../envelope.ts';
import { invalidRequest, ServiceError } from '../../errors.ts';
import { newRequestId } from './active-request.ts';
import { errorHeaders } from './security-headers.ts';

/** The legacy error fields of operations, for responses that no route sends. The settings may add a prefix to a path. */
const legacyErrorFields: readonly {
  readonly method: string;
  readonly path: RegExp;
  readonly fields: LegacyErrorFields;
}[] = [
  {
    method: 'POST',
    path: /\/stage\/payment\/[^/]+\/[^/]+$/,
    fields: (message) => ({ message: { message } }),
  },
  {
    method: 'POST',
    path: /\/v3\/[^/]+\/[^/]+\/create$/,
    fields: (message) => ({ msg: message, complete: false }),
  },
  { method: 'PUT', path: /\/v3\/[^/]+\/[^/]+\/update$/, fields: (message) => ({ message }) },
  {
    method: 'POST',
    path: /\/v3\/create\/service\/auth\/[^/]+\/[^/]+$/,
    fields: () => ({ compelete: false }),
  },
];

function findLegacyErrorFields({ method, url = '' }: IncomingMessage): LegacyErrorFields | undefined {
  const [path = ''] = url.split('?', 1);
  return legacyErrorFields.find((each) => each.method === method && each.path.test(path))?.fields;
}

/** Responds until the service is ready: 503 in the envelope, and `/livez` reports that the process is alive. */
export function respondStarting(request: IncomingMessage, response: ServerResponse): void {
  const isLiveness = request.url === '/livez';
  const starting = () => new ServiceError('unavailable', { message: 'The service is starting.' });
  const envelope = isLiveness
    ? success({ status: 'alive' })
    : failure(starting(), newRequestId(), findLegacyErrorFields(request));
  respond(response, envelope, isLiveness ? {} : { 'retry-after': '1' });
}

/** Responds to an unsupported `Expect`. */
export function rejectExpectation(_request: IncomingMessage, response: ServerResponse): void {
  const error = invalidRequest('Expect', 'The only supported expectation is "Expect: 100-continue".');
  respond(response, failure(error, newRequestId()), { connection: 'close' });
}

function respond(
  response: ServerResponse,
  envelope: Envelope<unknown>,
  headers: Readonly<Record<string, string>>,
): void {
  const text = JSON.stringify(envelope);
  response.writeHead(envelope.statusCode, { ...textHeaders(text), ...headers });
  response.end(text);
}

/** Writes a response to the socket: input that did not become a request has no response object. */
export function writeResponse(socket: Socket, error: ServiceError): void {
  const text = JSON.stringify(failure(error, newRequestId()));
  const headers = { ...textHeaders(text), connection: 'close', ...error.details.headers };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${text}`);
}

function textHeaders(text: string): Readonly<Record<string, string>> {
  const length = String(Buffer.byteLength(text));
  return { ...errorHeaders, 'content-type': jsonContentType, 'content-length': length };
}

export function connectError(): ServiceError {
  return new ServiceError('method_not_allowed', {
    message: 'CONNECT is not supported.',
    headers: { allow: '' },
  });
}

/** @param code of the error of Node.js */
export function parserError(code: string | undefined): ServiceError {
  if (code === 'HPE_HEADER_OVERFLOW') return new ServiceError('headers_too_large');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new ServiceError('request_timeout');
  return invalidRequest(undefined, 'This is not a well-formed HTTP/1.1 request.');
}

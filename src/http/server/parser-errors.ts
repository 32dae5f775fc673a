import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { failure, jsonContentType } from '../../envelope.ts';
import { ServiceError } from '../../errors.ts';
import { newRequestId } from './request-id.ts';
import { errorHeaders } from './security-headers.ts';

/** Responses to input that did not become a request of the application. */

/** Responds to an unsupported `Expect`. */
export function rejectExpectation(_request: IncomingMessage, response: ServerResponse): void {
  const error = new ServiceError('invalid_request', {
    param: 'Expect',
    message: 'The only supported expectation is "Expect: 100-continue".',
  });
  const text = JSON.stringify(failure(error, newRequestId()));
  response.writeHead(error.status, {
    ...errorHeaders,
    'content-type': jsonContentType,
    connection: 'close',
  });
  response.end(text);
}

/** Writes a response to the socket: input that did not become a request has no response object. */
export function writeResponse(socket: Socket, error: ServiceError): void {
  const text = JSON.stringify(failure(error, newRequestId()));
  const headers = {
    ...errorHeaders,
    'content-type': jsonContentType,
    'content-length': String(Buffer.byteLength(text)),
    connection: 'close',
    ...error.details.headers,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${text}`);
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
  return new ServiceError('invalid_request', { message: 'This is not a well-formed HTTP/1.1 request.' });
}

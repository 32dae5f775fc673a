import type { IncomingMessage, ServerResponse } from 'node:http';
import { type FieldsBesideError, failure, jsonContentType, success } from '../../envelope.ts';
import { ServiceError } from '../../errors.ts';
import { newRequestId } from './request-id.ts';
import { errorHeaders } from './security-headers.ts';

/**
 * The documented fields beside an error, by operation, for responses that no route sends. The settings may add a prefix to a
 * path.
 */
const documented: readonly {
  readonly method: string;
  readonly path: RegExp;
  readonly beside: FieldsBesideError;
}[] = [
  {
    method: 'POST',
    path: /\/stage\/payment\/[^/]+\/[^/]+$/,
    beside: (message) => ({ message: { message } }),
  },
  {
    method: 'POST',
    path: /\/v3\/[^/]+\/[^/]+\/create$/,
    beside: (message) => ({ msg: message, complete: false }),
  },
  { method: 'PUT', path: /\/v3\/[^/]+\/[^/]+\/update$/, beside: (message) => ({ message }) },
  {
    method: 'POST',
    path: /\/v3\/create\/service\/auth\/[^/]+\/[^/]+$/,
    beside: () => ({ compelete: false }),
  },
];

export function documentedFields({ method, url = '' }: IncomingMessage): FieldsBesideError | undefined {
  const [path = ''] = url.split('?', 1);
  return documented.find((operation) => operation.method === method && operation.path.test(path))?.beside;
}

/** Responds until the service is ready: 503 in the envelope, and `/livez` reports that the process is alive. */
export function respondStarting(request: IncomingMessage, response: ServerResponse): void {
  const isLiveness = request.url === '/livez';
  const starting = () => new ServiceError('unavailable', { message: 'The service is starting.' });
  const envelope = isLiveness
    ? success({ status: 'alive' })
    : failure(starting(), newRequestId(), documentedFields(request));
  const text = JSON.stringify(envelope);
  response.writeHead(envelope.statusCode, {
    ...errorHeaders,
    'content-type': jsonContentType,
    'content-length': Buffer.byteLength(text),
    ...(isLiveness ? {} : { 'retry-after': '1' }),
  });
  response.end(text);
}

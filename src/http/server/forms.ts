import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../../errors.ts';
import type { App } from './routes.ts';

const formType = 'application/x-www-form-urlencoded';

/** Makes the routes of a scope accept forms, and nothing else. A duplicate parameter is rejected (RFC 6749, 3.1). */
export function takeForms(app: App): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(formType, { parseAs: 'string' }, (_request, body, done) => {
    const parameters = [...new URLSearchParams(body as string)];
    const fields = Object.fromEntries(parameters);
    if (Object.keys(fields).length === parameters.length) done(null, fields);
    else done(new ServiceError('invalid_request', { message: 'The form has a parameter more than once.' }));
  });
  app.addHook('onRequest', (request, _reply, done) => done(contentTypeError(request)));
}

function contentTypeError({ headers }: FastifyRequest): ServiceError | undefined {
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  if (type.trim().toLowerCase() === formType && headers['content-encoding'] === undefined) return undefined;
  return new ServiceError('unsupported_media_type', {
    param: 'Content-Type',
    message: `The body must be a form, sent with "Content-Type: ${formType}".`,
  });
}

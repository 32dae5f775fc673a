import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { failure } from '../../envelope.ts';
import { ServiceError } from '../../errors.ts';
import { contentTag, isUnchanged } from '../response/conditional-requests.ts';
import { passTo, sendEnvelope } from '../response/send.ts';
import { operation, type Routes, routeFamily } from '../server/operation.ts';
import { pageHeaders } from '../server/security-headers.ts';

/** A browser keeps an asset of the console for a year: changed content has a new name. */
const consoleAssetSeconds = 365 * 24 * 60 * 60;
/** The wait after a failed build of the console: anybody can request one. */
const consoleRetryMs = 30_000;

const paths = ['/console', '/console/*'];

/**
 * `/console`, a page for people. Every path below it is a view of the page, except `/console/assets` and `/console/session`.
 * A second Fastify instance serves the files. The first request creates it, so that the start of the service does not wait.
 *
 * @param findFiles the folder of the built console; rejects with `unavailable` if there is none
 */
export function consoleRoutes(findFiles: () => Promise<string>): Routes {
  let opening: Promise<FastifyInstance> | undefined;
  const open = () => {
    opening ??= findFiles()
      .then(openFiles)
      .catch((error: unknown) => {
        // A later request tries again. The next one does not: anybody may send it, and a build occupies a core for seconds.
        setTimeout(() => {
          opening = undefined;
        }, consoleRetryMs).unref();
        throw error;
      });
    return opening;
  };
  return routeFamily(
    'Console',
    paths.map((path) =>
      operation('GET', path, 'public', {
        request: { query: 'any' },
        handle: async (request, reply) => {
          const files = await open();
          reply.raw.setHeader('request-id', request.id);
          ids.set(request.raw, request.id);
          return passTo(files, reply);
        },
      }),
    ),
  );
}

/**
 * Only files of this service: no inline script or style, nothing from another origin, no markup from text (Trusted Types), and
 * no frame around the page.
 */
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/** The ids that requests have, for the error responses of the second instance. */
const ids = new WeakMap<IncomingMessage, string>();

/** A Fastify instance that never listens. The names of the assets change with their content; the page is revalidated. */
async function openFiles(root: string): Promise<FastifyInstance> {
  const [{ default: Fastify }, { default: fastifyStatic }] = await Promise.all([
    import('fastify'),
    import('@fastify/static'),
  ]);
  const files = Fastify({ genReqId: (request) => ids.get(request as IncomingMessage) ?? '' });
  files.addHook('onRequest', (_request, reply, done) => {
    reply.headers(pageHeaders).header('content-security-policy', contentSecurityPolicy);
    done();
  });
  await files.register(fastifyStatic, {
    root: `${root}/assets`,
    prefix: '/console/assets/',
    index: false,
    preCompressed: true,
    immutable: true,
    maxAge: consoleAssetSeconds * 1_000,
  });
  // The tag depends on the content: all files of a package have the same time, and the page has the same length in every version.
  const page = await readFile(`${root}/index.html`, 'utf8');
  const etag = contentTag(page);
  for (const path of paths) {
    files.get(path, (request, reply) => {
      reply.headers({ etag: `"${etag}"`, 'cache-control': 'public, no-cache' });
      if (isUnchanged(request.headers['if-none-match'], etag)) return reply.code(304).send();
      return reply.type('text/html; charset=utf-8').send(page);
    });
  }
  const notFound = (_: unknown, request: FastifyRequest, reply: FastifyReply) =>
    sendEnvelope(reply, failure(new ServiceError('route_not_found'), request.id));
  files.setNotFoundHandler((request, reply) => notFound(undefined, request, reply));
  // For a path that leads out of the folder.
  files.setErrorHandler(notFound);
  await files.ready();
  return files;
}

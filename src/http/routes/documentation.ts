import type { FastifyContextConfig, FastifyInstance } from 'fastify';
import { scopes } from '../../access/scopes.ts';
import { failure } from '../../envelope.ts';
import { ServiceError } from '../../errors.ts';
import { contentTag, isUnchanged } from '../response/conditional-requests.ts';
import { describeOperation, SchemaDescriber, withComponents } from '../response/described.ts';
import { emptyWhenAbsent } from '../response/schemas.ts';
import { passTo, sendEnvelope } from '../response/send.ts';
import { newRequestId } from '../server/active-request.ts';
import { operation, type Routes, routeFamily } from '../server/operation.ts';
import { pageHeaders } from '../server/security-headers.ts';

/**
 * `/openapi.json`, generated from the routes, and `/docs`, a page to try them. This service serves the page and all its
 * assets; its security policy allows no other origin.
 *
 * A second Fastify instance with the same routes serves both. The first request creates it, so that the start of the service
 * does not wait for it.
 */
export function documentationRoutes(version: string, routes: readonly Routes[]): Routes {
  let twin: Promise<FastifyInstance> | undefined;
  return routeFamily(
    'Documentation',
    ['/openapi.json', '/docs', '/docs/*'].map((path) =>
      operation('GET', path, 'public', {
        request: { query: 'any' },
        handle: async (_request, reply) => {
          twin ??= describeRoutes(version, routes);
          return passTo(await twin, reply);
        },
      }),
    ),
  );
}

/** A Fastify instance that never listens. It generates the OpenAPI document of the routes (`swagger()`) and serves the page. */
export async function describeRoutes(version: string, routes: readonly Routes[]): Promise<FastifyInstance> {
  const [{ default: Fastify }, { default: swagger }, { default: swaggerUi }] = await Promise.all([
    import('fastify'),
    import('@fastify/swagger'),
    import('@fastify/swagger-ui'),
  ]);
  const describer = new SchemaDescriber();
  const twin = Fastify({ genReqId: newRequestId });
  twin.addHook('onRequest', (request, reply, done) => {
    reply.headers(pageHeaders).header('cache-control', cacheControl(request.url));
    done();
  });
  await twin.register(swagger, {
    transform: ({ schema, url, route }) => ({
      url,
      schema: {
        ...describeOperation(schema, route.preValidation === emptyWhenAbsent, describer),
        ...neededCredential(route.config),
      },
    }),
    transformObject: (document) =>
      'openapiObject' in document
        ? withComponents(document.openapiObject, describer.components())
        : document.swaggerObject,
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Counterfoil',
        version,
        description:
          'Card payments, key-value tables and sign-in. Operations and their errors respond with {"statusCode", "body"}; ' +
          'metrics, key sets, this document, and the pages and redirects of a sign-in do not.',
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: '/' }],
      tags,
      components: {
        securitySchemes: {
          apiKey: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: 'cfk_<id>.<secret>',
            description:
              'An API key with the scope of the operation, or with admin. Not required while the service has no keys. ' +
              `Scopes: ${scopes.join(', ')}.`,
          },
          paymentClientSecret: {
            type: 'apiKey',
            in: 'header',
            name: 'Payment-Client-Secret',
            description:
              'The secret of one payment, which reads that payment only. The response to a charge by a publishable key has ' +
              'it in the header of the same name.',
          },
        },
      },
    },
  });
  await twin.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: contentSecurityPolicy,
    theme: { title: 'Counterfoil' },
    uiConfig: { layout: 'BaseLayout', deepLinking: true, validatorUrl: null },
  });
  for (const add of routes) await add(twin as unknown as Parameters<Routes>[0]);
  let document: { readonly text: string; readonly etag: string } | undefined;
  twin.get('/openapi.json', { schema: { hide: true } }, async (request, reply) => {
    document ??= openDocument(twin);
    const { text, etag } = document;
    reply.header('etag', `"${etag}"`);
    if (isUnchanged(request.headers['if-none-match'], etag)) return reply.code(304).send();
    return reply.header('content-type', 'application/json; charset=utf-8').send(text);
  });
  twin.setNotFoundHandler((request, reply) =>
    sendEnvelope(reply, failure(new ServiceError('route_not_found'), request.id)),
  );
  await twin.ready();
  return twin;
}

/** The groups of operations. */
const tags = [
  { name: 'Payments', description: 'Charge cards, and refund, cancel and find payments' },
  { name: 'Tables', description: 'Items with an id and a name, in tables' },
  { name: 'Sign-in', description: 'Identity providers, sign-ins, sessions and tokens' },
  { name: 'Users', description: 'Who has signed in, for operators' },
  { name: 'Administration', description: 'API keys, the audit trail, the backups and the doctor' },
  { name: 'Operations', description: 'Liveness, readiness and metrics' },
];

/** Nothing from other origins; the page uses inline styles and data URLs for icons. */
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

function openDocument(twin: FastifyInstance) {
  const text = JSON.stringify(twin.swagger());
  return { text, etag: contentTag(text) };
}

/** The assets of the page change only with the version of the service; a browser revalidates the rest by its tag. */
function cacheControl(url: string): string {
  return url.startsWith('/docs/static/') ? 'public, max-age=3600' : 'public, no-cache';
}

/** The scope that a key needs, as a role of OpenAPI 3.1 (4.8.30); or the secret of a payment. */
function neededCredential(config: FastifyContextConfig = {}): { security: Record<string, string[]>[] } {
  const { access, isClientSecret } = config;
  if (access === undefined || access === 'public' || access === 'signed') return { security: [] };
  const withKey = { apiKey: [access] };
  return { security: isClientSecret === undefined ? [withKey] : [withKey, { paymentClientSecret: [] }] };
}

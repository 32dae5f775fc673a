import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { defined } from '../../defined.ts';
import { jsonContentType, success } from '../../envelope.ts';
import { contentTag, isUnchanged } from '../response/conditional-requests.ts';
import { parseQualities } from '../response/content-negotiation.ts';
import { named } from '../response/described.ts';
import { contentSecurityPolicy, escaped, htmlPage, pageText } from '../response/page.ts';
import { responseSchema, strictObject } from '../response/schemas.ts';
import { sendAs } from '../response/send.ts';
import { sendHead } from '../response/stream-items.ts';
import { operation, type Routes, routeFamily } from '../server/operation.ts';
import { pageHeaders } from '../server/security-headers.ts';

/** What the start page names. It reveals nothing that the OpenAPI document does not show. */
export interface StartPage {
  /** The origin of the links; undefined for links relative to the requested one. */
  readonly origin: string | undefined;
  /** What the documentation shows; undefined if the service serves none. */
  readonly documented: Documented | undefined;
  /** Whether the service serves the console on this listener. */
  readonly hasConsole: boolean;
}

export interface Documented {
  readonly version: string;
  /** Where the paths of each group of operations begin, by its name. */
  readonly paths: Readonly<Record<string, string>>;
}

/** `GET /`: a page for a browser, and the same links in the envelope for every other caller. */
export function startPageRoutes(content: StartPage): Routes {
  const page = represent(html(content), 'text/html; charset=utf-8');
  const envelope = represent(JSON.stringify(success(startContent(content))), jsonContentType);
  return routeFamily('Operations', [
    operation('GET', '/', 'public', {
      id: 'showStart',
      summary: 'Show what this service is, with links to its documentation and health',
      request: { query: 'any' },
      response,
      otherResponses: {
        304: Type.Null({ description: '`If-None-Match` has the ETag: nothing has changed' }),
      },
      handle: (request, reply) => {
        const { text, type, etag } = prefersPage(request) ? page : envelope;
        reply.headers({
          ...pageHeaders,
          'cache-control': 'public, no-cache',
          'content-security-policy': contentSecurityPolicy,
          // The response may already vary with the origin of the page.
          vary: ['accept', ...[reply.getHeader('vary') ?? []].flat()].join(', '),
          etag: `"${etag}"`,
        });
        if (isUnchanged(request.headers['if-none-match'], etag)) return sendHead(reply, 304);
        return sendAs(reply, type, text);
      },
    }),
  ]);
}

const documentationLinks = {
  documentation: { path: '/docs', text: 'Documentation of every operation, to read and to try' },
  openapi: { path: '/openapi.json', text: 'OpenAPI document' },
};
const consoleLink = {
  console: { path: '/console', text: 'Console: payments and tables, to look at and to change' },
};
const healthLinks = {
  liveness: { path: '/livez', text: 'Liveness of the process' },
  readiness: { path: '/readyz', text: 'Readiness of the service' },
};

const url = Type.String({ format: 'uri-reference' });
const path = Type.Optional(Type.String());
const startBody = named(
  'StartPage',
  strictObject({
    service: Type.Literal('Counterfoil'),
    version: Type.Optional(Type.String()),
    links: strictObject({
      console: Type.Optional(url),
      documentation: Type.Optional(url),
      openapi: Type.Optional(url),
      liveness: url,
      readiness: url,
    }),
    paths: Type.Optional(
      strictObject(
        { tables: path, sign_in: path, payments: path },
        { description: 'Where the paths of each group of operations begin' },
      ),
    ),
  }),
);

const json = responseSchema(startBody, 'A page for a browser, or the same links in the envelope', {
  ETag: Type.String(),
  Vary: Type.String(),
});
const response = { ...json, content: { ...json.content, ...htmlPage.content } };

/** Whether a caller prefers HTML by its `Accept` header. A browser names it; a program names JSON, anything, or nothing. */
function prefersPage({ headers }: FastifyRequest): boolean {
  const qualities = parseQualities(headers.accept ?? '');
  const ofPage = qualities.get('text/html') ?? 0;
  const ofJson = qualities.get('application/json');
  if (ofJson !== undefined) return ofPage > ofJson;
  return ofPage > 0 && ofPage >= (qualities.get('application/*') ?? qualities.get('*/*') ?? 0);
}

function startContent({ documented, ...rest }: StartPage) {
  const links = Object.entries(pageLinks({ documented, ...rest }));
  return {
    service: 'Counterfoil',
    ...defined({ version: documented?.version }),
    links: Object.fromEntries(links.map(([name, { href }]) => [name, href])),
    ...defined({ paths: documented?.paths }),
  };
}

function html(content: StartPage): string {
  const { documented } = content;
  const links = Object.values(pageLinks(content)).map(
    ({ href, text }) => `<li><a href="${escaped(href)}">${escaped(text)}</a></li>`,
  );
  const paths = Object.entries(documented?.paths ?? {}).map(
    ([name, begin]) => `<li>${escaped(name.replaceAll('_', '-'))}: <code>${escaped(begin)}</code></li>`,
  );
  const inner = [
    '<p>This service takes card payments, stores key-value tables and signs people in.</p>',
    `<ul>\n${links.join('\n')}\n</ul>`,
    ...(paths.length === 0 ? [] : [`<h2>Paths</h2>\n<ul>\n${paths.join('\n')}\n</ul>`]),
    ...(documented === undefined ? [] : [`<p><small>Version ${escaped(documented.version)}</small></p>`]),
  ];
  return pageText({ title: 'Counterfoil', inner: inner.join('\n') });
}

function pageLinks({ origin = '', documented, hasConsole }: StartPage) {
  const links = {
    ...(hasConsole ? consoleLink : {}),
    ...(documented === undefined ? {} : documentationLinks),
    ...healthLinks,
  };
  return Object.fromEntries(
    Object.entries(links).map(([name, { path, text }]) => [name, { href: origin + path, text }]),
  );
}

function represent(text: string, type: string) {
  return { text, type, etag: contentTag(text) };
}

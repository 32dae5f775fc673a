import { createHash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import type { ServiceError } from '../../errors.ts';
import { NotAdministrator, SignInError } from '../../sign-in/sign-in.ts';
import { sendAs } from './send.ts';

/** A page for people: `inner` is HTML, `title` is text. */
interface Page {
  readonly title: string;
  readonly inner: string;
}

const style =
  'body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:12vh auto;padding:0 1.5rem;color:#1a1a1a;background:#fff}' +
  'h1{font-size:1.5rem;line-height:1.25}a{color:#0b57d0}small{color:#595959}' +
  '@media(prefers-color-scheme:dark){body{color:#eee;background:#121212}a{color:#a8c7fa}small{color:#aaa}}';
const styleDigest = createHash('sha256').update(style).digest('base64');

/** A page loads nothing, runs no script and cannot be framed; its one style is allowed by its digest. */
export const contentSecurityPolicy =
  `default-src 'none'; style-src 'sha256-${styleDigest}'; ` +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The HTML document of a page. */
export function pageText({ title, inner }: Page): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${escaped(title)}</h1>
${inner}
</main>
</body>
</html>
`;
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text as HTML, also within a quoted attribute. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] as string);
}

/** A page in the OpenAPI document. */
export const htmlPage = { content: { 'text/html': { schema: Type.String() } } };

/** Keeps a sign-in response out of caches, and its URL out of the referrer. */
export const privateHeaders = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' };

interface ErrorPage {
  readonly error: ServiceError;
  readonly requestId: string;
  /** A link that starts the sign-in again. */
  readonly againUrl: string | undefined;
}

/** For a user who opens the URL again that completed the sign-in. */
export const signedInPage: Page = {
  title: 'You are signed in',
  inner: '<p>This sign-in is complete. You can close this page or continue in the app.</p>',
};

/** The provider sends the browser here after its sign-out. */
export const signedOutPage: Page = {
  title: 'You are signed out',
  inner: '<p>You can close this page.</p>',
};

/**
 * The page for a rejected sign-in. It shows nothing of the request except the link, which is built from validated values. To a
 * person who is no administrator it also shows who the provider says they are.
 */
export function sendErrorPage(reply: FastifyReply, { error, requestId, againUrl }: ErrorPage): FastifyReply {
  const { retryAfterSeconds } = error.details;
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds));
  const title = error instanceof SignInError ? error.title : 'You cannot sign in here';
  const again = againUrl === undefined ? '' : `<p><a href="${escaped(againUrl)}">Try again</a></p>\n`;
  const inner = `<p role="alert">${escaped(error.message)}</p>\n${identityDetails(error)}${again}<p><small>Request ${escaped(requestId)}</small></p>`;
  return sendHtml(reply.code(error.status), { title, inner });
}

/** Who the provider says the person is, to be copied. */
function identityDetails(error: ServiceError): string {
  if (!(error instanceof NotAdministrator)) return '';
  const { issuer, subject, provider, integration } = error.identity;
  return (
    `<dl><dt>Issuer</dt><dd><code>${escaped(issuer)}</code></dd>` +
    `<dt>Subject</dt><dd><code>${escaped(subject)}</code></dd>` +
    `<dt>Integration</dt><dd><code>${escaped(`${provider}/${integration}`)}</code></dd></dl>\n`
  );
}

/** Sends a page. Pages for people are not in the envelope. */
export function sendHtml(reply: FastifyReply, page: Page): FastifyReply {
  reply.headers({ ...privateHeaders, 'content-security-policy': contentSecurityPolicy });
  return sendAs(reply, 'text/html; charset=utf-8', pageText(page));
}

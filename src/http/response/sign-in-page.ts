import { createHash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import type { ServiceError } from '../../errors.ts';
import { SignInRefusal } from '../../sign-in/refusal.ts';

const style =
  'body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:12vh auto;padding:0 1.5rem;color:#1a1a1a;background:#fff}' +
  'h1{font-size:1.5rem;line-height:1.25}a{color:#0b57d0}small{color:#595959}' +
  '@media(prefers-color-scheme:dark){body{color:#eee;background:#121212}a{color:#a8c7fa}small{color:#aaa}}';
const styleDigest = createHash('sha256').update(style).digest('base64');

/** Nothing is loaded, nothing runs, nothing frames it; the one style is known by its digest. */
const contentSecurityPolicy = `default-src 'none'; style-src 'sha256-${styleDigest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** A page in the OpenAPI document. */
export const htmlPage = { content: { 'text/html': { schema: Type.String() } } };

/** What keeps an answer of a sign-in from caches, and its address from the next page's makers. */
export const privateHeaders = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' };

export interface RefusalPage {
  readonly error: ServiceError;
  readonly requestId: string;
  /** Where the sign-in can be begun anew. */
  readonly againUrl: string | undefined;
}

/** A page of our own words: `inner` is HTML, the title text. */
export interface Page {
  readonly title: string;
  readonly inner: string;
}

/** Of somebody who goes back to the address that signed them in. */
export const signedInPage: Page = {
  title: 'You are signed in',
  inner: '<p>This sign-in is complete. You can close this page, or go on in the app.</p>',
};

/** Where a provider sends the browser after it has signed out there too. */
export const signedOutPage: Page = {
  title: 'You are signed out',
  inner: '<p>You can close this page.</p>',
};

/**
 * The page that a person sees whose sign-in was refused. Nothing of the request is on it but the link, which is made of what
 * was checked.
 */
export function sendRefusalPage(
  reply: FastifyReply,
  { error, requestId, againUrl }: RefusalPage,
): FastifyReply {
  const { retryAfterSeconds } = error.details;
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds));
  const title = error instanceof SignInRefusal ? error.title : 'You cannot sign in here';
  const again = againUrl === undefined ? '' : `<p><a href="${escaped(againUrl)}">Try again</a></p>\n`;
  const inner = `<p role="alert">${escaped(error.message)}</p>\n${again}<p><small>Request ${escaped(requestId)}</small></p>`;
  return sendPage(reply.code(error.status), { title, inner });
}

/** Pages for a person are the one kind of response that is not in the envelope. */
export function sendPage(reply: FastifyReply, page: Page): FastifyReply {
  return reply
    .headers({ ...privateHeaders, 'content-security-policy': contentSecurityPolicy })
    .header('content-type', 'text/html; charset=utf-8')
    .serializer(asItIs)
    .send(pageText(page));
}

function pageText({ title, inner }: Page): string {
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

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] as string);
}

function asItIs(text: unknown): string {
  return text as string;
}

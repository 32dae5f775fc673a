import { createHash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import type { ServiceError } from '../errors.ts';
import { SignInRefusal } from '../sign-in/refusal.ts';

const style =
  'body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:12vh auto;padding:0 1.5rem;color:#1a1a1a;background:#fff}' +
  'h1{font-size:1.5rem;line-height:1.25}a{color:#0b57d0}small{color:#595959}' +
  '@media(prefers-color-scheme:dark){body{color:#eee;background:#121212}a{color:#a8c7fa}small{color:#aaa}}';
const styleDigest = createHash('sha256').update(style).digest('base64');

/** Nothing is loaded, nothing runs, nothing frames it; the one style is known by its digest. */
const contentSecurityPolicy = `default-src 'none'; style-src 'sha256-${styleDigest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** What keeps an answer of a sign-in from caches, and its address from the next page's makers. */
export const privateHeaders = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' };

export interface RefusalPage {
  readonly error: ServiceError;
  readonly requestId: string;
  /** Where the sign-in can be begun anew. */
  readonly againUrl: string | undefined;
}

/**
 * The page that a person sees whose sign-in was refused: the one answer that is not in the envelope. Its words are our
 * own; nothing of the request is on it but the link, which is made of what was checked.
 */
export function sendRefusalPage(reply: FastifyReply, page: RefusalPage): FastifyReply {
  const { error } = page;
  const { retryAfterSeconds } = error.details;
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds));
  return reply
    .code(error.status)
    .headers({ ...privateHeaders, 'content-security-policy': contentSecurityPolicy })
    .header('content-type', 'text/html; charset=utf-8')
    .serializer(asItIs)
    .send(pageText(page));
}

function pageText({ error, requestId, againUrl }: RefusalPage): string {
  const title = error instanceof SignInRefusal ? error.title : 'You cannot sign in here';
  const again = againUrl === undefined ? '' : `<p><a href="${escaped(againUrl)}">Try again</a></p>\n`;
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
<p role="alert">${escaped(error.message)}</p>
${again}<p><small>Request ${escaped(requestId)}</small></p>
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

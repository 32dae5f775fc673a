import { createHash } from 'node:crypto';

/** A page for people: `inner` is HTML, `title` is text. */
export interface Page {
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

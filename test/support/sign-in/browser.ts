/** A response that a browser received. */
export interface Page {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly host: string;
  readonly path: string;
}

const redirectsMax = 20;

/**
 * A browser with the functions that a sign-in needs: it stores cookies by host and path, but not by port, as browsers
 * do, follows redirects and fills in forms.
 */
export class Browser {
  readonly #cookies = new Map<string, Cookie>();

  /** Sends one request, and follows no redirect. */
  async open(url: string, init: RequestInit = {}): Promise<Page> {
    const headers = new Headers(init.headers);
    const cookie = this.cookieHeader(url);
    if (cookie !== '') headers.set('cookie', cookie);
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) this.#store(line, new URL(url));
    return { url, status: response.status, headers: response.headers, text: await response.text() };
  }

  /** Follows redirects to the first page, or to the first URL for which `until` holds, without opening it. */
  async follow(start: string, until: (url: string) => boolean = () => false): Promise<Page> {
    let page = await this.open(start);
    for (let count = 0; count < redirectsMax; count++) {
      const location = page.headers.get('location');
      if (page.status < 300 || page.status >= 400 || location === null) return page;
      const next = new URL(location, page.url).href;
      if (until(next)) return { ...page, url: next };
      page = await this.open(next);
    }
    throw new Error(`more than ${redirectsMax} redirects from ${start}`);
  }

  /** Submits the form of a page, with its hidden fields and `fields`. */
  async submit(page: Page, fields: Readonly<Record<string, string>>, until?: (url: string) => boolean) {
    const action = /<form[^>]*action="([^"]+)"/.exec(page.text)?.[1];
    if (action === undefined) throw new Error(`no form at ${page.url}: ${page.status} ${page.text}`);
    const hidden = page.text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g);
    const body = new URLSearchParams([...hidden].map(([, name = '', value = '']) => [name, value]));
    for (const [name, value] of Object.entries(fields)) body.set(name, value);
    const response = await this.open(new URL(action, page.url).href, { method: 'POST', body });
    const location = response.headers.get('location');
    if (location === null) throw new Error(`the form returned ${response.status}: ${response.text}`);
    const next = new URL(location, response.url).href;
    return until?.(next) === true ? { ...response, url: next } : this.follow(next, until);
  }

  cookieHeader(url: string): string {
    const { hostname, pathname } = new URL(url);
    return [...this.#cookies.values()]
      .filter(({ host, path }) => host === hostname && pathname.startsWith(path))
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ');
  }

  /** The value of a cookie on any path. */
  cookie(name: string): string | undefined {
    return [...this.#cookies.values()].find((cookie) => cookie.name === name)?.value;
  }

  get cookieNames(): readonly string[] {
    return [...this.#cookies.values()].map(({ name }) => name);
  }

  setCookie(name: string, value: string, host = '127.0.0.1'): void {
    this.#cookies.set(`${host} / ${name}`, { name, value, host, path: '/' });
  }

  #store(line: string, { hostname }: URL): void {
    const [pair = '', ...attributes] = line.split(/;\s*/);
    const [name = '', value = ''] = pair.split(/=(.*)/s);
    const attribute = (wanted: string) =>
      attributes.map((each) => each.split('=')).find(([each]) => each?.toLowerCase() === wanted)?.[1];
    const path = attribute('path') ?? '/';
    const key = `${hostname} ${path} ${name}`;
    const isGone = attribute('max-age') === '0' || Date.parse(attribute('expires') ?? '') < Date.now();
    if (isGone) this.#cookies.delete(key);
    else this.#cookies.set(key, { name, value, host: hostname, path });
  }
}

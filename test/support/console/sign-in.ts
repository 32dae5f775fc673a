import type { Page } from 'playwright-core';
import type { TestResponse, TestService } from '../service.ts';

export interface ConsoleBrowser {
  readonly response: TestResponse;
  /** `name=value`, as a browser sends it. */
  readonly cookie: string;
  readonly token: string;
  /** The headers of a request from the page. */
  readonly headers: Readonly<Record<string, string>>;
}

const path = '/console/session';

/** The headers that a browser adds to a request of the page itself. */
export function fromPage({ origin }: { readonly origin: string }): Record<string, string> {
  return { origin, 'sec-fetch-site': 'same-origin' };
}

/** Signs in as the page does. @param headers in addition, or in the place of what a browser sends */
export async function signInToConsole(
  service: TestService,
  key: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<ConsoleBrowser> {
  const response = await service.post(path, { key }, { ...fromPage(service), ...headers });
  const cookie = /^[^;]*/.exec(response.headers.get('set-cookie') ?? '')?.[0] ?? '';
  const token = response.json?.body?.token ?? '';
  return { response, cookie, token, headers: { ...fromPage(service), cookie, 'console-token': token } };
}

/** Signs in as a person does. */
export async function enterKey(page: Page, origin: string, key: string): Promise<void> {
  await page.goto(`${origin}/console`);
  await page.getByLabel('API key').fill(key);
  await page.keyboard.press('Enter');
}

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { TestContext } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { newBrowser } from '../browser.ts';
import { givenUpMs } from '../busy-machine.ts';

const axeText = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export interface ConsoleWindow {
  readonly context: BrowserContext;
  /** A new tab of this browser. */
  openPage(): Promise<Page>;
  /** What no page may do: run foreign script, break the security policy, call another origin. */
  readonly faults: readonly string[];
}

/**
 * A browser that notes what no page of the console may do. It is closed after the test, which fails if it noted anything.
 *
 * @param others origins that the browser goes to on its way, whose pages do what they like
 */
export async function openWindow(
  t: TestContext,
  origin: string,
  { others = [] }: { readonly others?: readonly string[] } = {},
): Promise<ConsoleWindow> {
  const context = await newBrowser(t, { viewport: { width: 1100, height: 700 }, locale: 'en-US' });
  context.setDefaultTimeout(givenUpMs);
  const faults: string[] = [];
  const isOther = (url: string) => URL.canParse(url) && others.includes(new URL(url).origin);
  context.on('request', (request) => {
    // The referrer is the page that sends it; the frame may still be at the page before.
    const { referer = '' } = request.headers();
    const isOfOther = isOther(request.url()) || (!request.isNavigationRequest() && isOther(referer));
    if (new URL(request.url()).origin !== origin && !isOfOther) faults.push(`requested ${request.url()}`);
  });
  context.on('dialog', (dialog) => {
    faults.push(`opened a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  context.on('weberror', (error) => faults.push(`threw ${error.error().message}`));
  context.on('console', (message) => {
    // A rejected or failed request is reported here too; the page shows it.
    if (!isOther(message.page()?.url() ?? '') && !/Failed to load resource|net::ERR/.test(message.text()))
      faults.push(`logged ${message.text()}`);
  });
  await context.addInitScript({
    content: `document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
      console.error('policy ' + violatedDirective + ' ' + blockedURI))`,
  });
  t.after(() => assert.deepEqual(faults, []));
  return { context, openPage: () => context.newPage(), faults };
}

/** The problems that axe-core finds in a page, in both colors. */
export async function accessibilityProblems(page: Page): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    // Through the debugger, past the security policy of the page.
    const session = await page.context().newCDPSession(page);
    await session.send('Runtime.evaluate', { expression: axeText });
    const { result } = await session.send('Runtime.evaluate', {
      expression: `axe.run().then(({ violations }) => JSON.stringify(violations.map(({ id, nodes }) =>
        id + ': ' + nodes.map(({ html, failureSummary }) => html + ' ' + failureSummary).join(' | '))))`,
      awaitPromise: true,
    });
    problems.push(...(JSON.parse(String(result.value)) as string[]).map((text) => `${colorScheme}: ${text}`));
    await session.detach();
  }
  await page.emulateMedia({ colorScheme: 'light' });
  return problems;
}

import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext } from 'node:test';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
let browser: Promise<Browser> | undefined;
after(async () => (await browser)?.close());

/** A browser that was never used, and is closed after the test. All of a process are contexts of one program, which starts once. */
export async function newBrowser(
  t: TestContext,
  options: BrowserContextOptions = {},
): Promise<BrowserContext> {
  browser ??= chromium.launch({ executablePath, args: ['--no-sandbox'] });
  const context = await (await browser).newContext(options);
  t.after(() => context.close());
  return context;
}

/** The folder of a run's screenshots; `PICTURES=docs/console` makes those of the documents. */
const pictures = process.env.PICTURES ?? join(tmpdir(), 'counterfoil-pictures');

/** Keeps a view of the page as a picture. */
export async function look(page: Page, name: string, { fullPage = false } = {}): Promise<void> {
  mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `${name}.png`), fullPage });
}

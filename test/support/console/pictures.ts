import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';

/** The folder of a run's screenshots; `PICTURES=docs/console` makes those of the documents. */
const pictures = process.env.PICTURES ?? join(tmpdir(), 'counterfoil-pictures');

/** Keeps a view of the page as a picture. */
export async function look(page: Page, name: string): Promise<void> {
  mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `${name}.png`) });
}

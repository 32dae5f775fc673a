import { Agent, get } from 'node:http';
import type { ReadingTimes } from '../read-client.ts';

/**
 * Reads a whole table page by page, for `whole-table.ts`: each page begins after the last id of the page before.
 *
 * Usage: node bench/rivals/page-client.ts PAGE_URL CONNECTIONS SECONDS PAGES
 *
 * `{last}` in PAGE_URL stands for that id. Every connection reads at least one table, and begins none after SECONDS.
 * Prints a `ReadingTimes`, one per table; fails when a page is not 200 or has no items.
 */
const [pageUrl = '', connections, seconds, pages] = process.argv.slice(2);
const deadline = performance.now() + Number(seconds) * 1_000;
const idField = '"id":"';

const responseMs: number[] = [];
const firstByteMs: number[] = [];

async function readRepeatedly(): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  do {
    const began = performance.now();
    let last = '';
    for (let page = 0; page < Number(pages); page++) {
      last = lastIdOf(await pageAfter(last, agent));
      if (page === 0) firstByteMs.push(performance.now() - began);
    }
    responseMs.push(performance.now() - began);
  } while (performance.now() < deadline);
  agent.destroy();
}

function pageAfter(last: string, agent: Agent): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    get(pageUrl.replace('{last}', last), { agent }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece)).once('error', reject);
      response.once('end', () => {
        if (response.statusCode === 200) resolve(Buffer.concat(pieces));
        else reject(new Error(`${pageUrl} returned ${response.statusCode}`));
      });
    }).once('error', reject);
  });
}

function lastIdOf(page: Buffer): string {
  const place = page.lastIndexOf(idField);
  if (place === -1) throw new Error(`${pageUrl}: a page without items`);
  const start = place + idField.length;
  return page.toString('latin1', start, page.indexOf('"', start));
}

await Promise.all(Array.from({ length: Number(connections) }, readRepeatedly));
process.stdout.write(JSON.stringify({ responseMs, firstByteMs } satisfies ReadingTimes));

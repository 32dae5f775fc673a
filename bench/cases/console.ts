import { type Browser, chromium, type Page } from 'playwright-core';
import type { Case, Conditions, Row } from '../case.ts';
import type { Environment } from '../environment.ts';
import { fixtureTable } from '../fixtures.ts';
import { countText } from '../measure.ts';
import { startService } from '../servers.ts';
import { missingTool, type Tool } from '../tools.ts';

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const chromiumTool: Tool = {
  command: executablePath,
  versionArgs: ['--version'],
  version: /Chromium \S+/,
  install: 'on Debian and Ubuntu: apt-get install chromium',
};
/** Of a phone of the middle class, beside the machine of a developer. */
const throttling = 4;
const scrollMs = 10_000;
/** What a fast reader scrolls in one frame. */
const scrollPx = 400;

/** What a person waits for in the console. */
export const consoleCase: Case = {
  name: 'console',
  summary: `opens the console in Chromium with a processor ${throttling} times slower, and scrolls a large table`,

  async measure(environment, conditions) {
    const { rounds, sizes, log } = conditions;
    const scrolled = `console: median frame while scrolling ${countText(sizes.large)} items`;
    const missing = missingTool(chromiumTool);
    if (missing !== undefined)
      return {
        rows: [{ name: scrolled, missing, goal: { of: 'figure', side: 'most', bound: 32 } }],
        remarks: [],
      };
    const figures = { interactive: [] as number[], frame: [] as number[], charge: [] as number[] };
    const { origin, table, browser } = await open(environment, conditions);
    let kilobytes = 0;
    try {
      await firstView(browser, origin);
      for (let round = 1; round <= rounds; round++) {
        const view = await firstView(browser, origin);
        kilobytes = view.kilobytes;
        figures.interactive.push(view.interactiveMs);
        figures.frame.push(await frameMs(browser, `${origin}/console/tables/${table}`));
        figures.charge.push(await chargeSeenMs(browser, origin));
        const [interactive, frame, charge] = Object.values(figures).map((list) =>
          Math.round(list.at(-1) as number),
        );
        log(`  round ${round}: interactive ${interactive} ms, frame ${frame} ms, charge seen ${charge} ms`);
      }
    } finally {
      await browser.close();
    }
    const row = (name: string, ours: readonly number[], bound: number): Row => ({
      name,
      unit: 'ms',
      ours,
      goal: { of: 'figure', side: 'most', bound },
    });
    return {
      rows: [
        row('console: until the first view can be used', figures.interactive, 1_000),
        row(scrolled, figures.frame, 32),
        row('console: until a new charge is seen', figures.charge, 1_000),
      ],
      remarks: [
        `The first view loads ${kilobytes.toFixed(1)} kB, gzipped (at most 90). It can be used when the list of payments is ` +
          `there and the page responds; the processor of the page is ${throttling} times slower, its cache is empty.`,
        `Scrolling ${scrollPx} px each frame for ${scrollMs / 1_000} s, without throttling.`,
      ],
    };
  },
};

async function open(environment: Environment, conditions: Conditions) {
  const { sizes, fixtures, log } = conditions;
  const table = fixtureTable(sizes.large);
  const data = await fixtures.with(environment, { [table]: sizes.large }, log);
  const simulating = { ...conditions, serveArguments: [...conditions.serveArguments, '--simulate'] };
  const { origin } = await startService(environment, simulating, data);
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox'],
  });
  return { origin, table, browser };
}

/** Opens the list of payments in a browser that has never seen it. */
async function firstView(browser: Browser, origin: string) {
  const context = await browser.newContext({ extraHTTPHeaders: { 'accept-encoding': 'gzip' } });
  try {
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send('Emulation.setCPUThrottlingRate', { rate: throttling });
    await session.send('Network.enable');
    let bytes = 0;
    // Without the heads of the responses.
    session.on('Network.dataReceived', ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    await page.goto(`${origin}/console/payments`);
    await page.getByRole('searchbox').waitFor();
    await page
      .getByRole('status')
      .getByText(/payment/)
      .waitFor();
    // The page's own clock: the time until it has drawn what it shows.
    const interactiveMs = Number(
      await page.evaluate(
        'new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => resolve(performance.now()))))',
      ),
    );
    return { interactiveMs, kilobytes: bytes / 1_000 };
  } finally {
    await context.close();
  }
}

/** The median time between two frames. */
async function frameMs(browser: Browser, url: string): Promise<number> {
  const page = await browser.newPage();
  try {
    await page.goto(url);
    await page.getByRole('cell').first().waitFor();
    return Number(await page.evaluate(scrolling));
  } finally {
    await page.close();
  }
}

const scrolling = `new Promise((resolve) => {
  const list = document.querySelector('.scroller');
  const frames = [];
  const began = performance.now();
  let last = began;
  requestAnimationFrame(function step(now) {
    frames.push(now - last);
    last = now;
    list.scrollBy(0, ${scrollPx});
    if (now - began < ${scrollMs}) requestAnimationFrame(step);
    else resolve(frames.sort((one, other) => one - other)[frames.length >> 1]);
  });
})`;

/** From the response to a charge until the page shows it. */
async function chargeSeenMs(browser: Browser, origin: string): Promise<number> {
  const page: Page = await browser.newPage();
  try {
    await page.goto(`${origin}/console/payments`);
    await page
      .getByRole('status')
      .getByText(/payment/)
      .waitFor();
    const amount = Math.floor(Math.random() * 9e7) + 1;
    const body = JSON.stringify({ amount, currency: 'JPY', token: 'tok_paid' });
    const headers = { 'content-type': 'application/json' };
    const charge = await fetch(`${origin}/stage/payment/simulated/charge`, { method: 'POST', headers, body });
    if (charge.status !== 200) throw new Error(`a charge was rejected: ${await charge.text()}`);
    const began = performance.now();
    await page.getByRole('link', { name: `¥${amount.toLocaleString('en')}` }).waitFor();
    return performance.now() - began;
  } finally {
    await page.close();
  }
}

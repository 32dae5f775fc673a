import type { Case } from '../case.ts';
import { compareInRounds, type Round } from '../measure.ts';
import { knownBrowser, startSigningIn } from '../signing-in.ts';
import { putUnderLoad, usualConnections } from '../wrk.ts';

const items = Array.from({ length: 10 }, (_, index) => ({
  id: `item-${index}`,
  name: `The name of item number ${index}`,
}));

/** Reading the session, which a web page does on every view. */
export const session: Case = {
  name: 'session',
  summary: 'reads the session of a signed-in user',

  async measure(environment, conditions) {
    const signing = await startSigningIn(environment, conditions);
    const { origin } = signing.service;
    const browser = await knownBrowser(signing, 'ursula');
    for (const item of items) {
      const body = JSON.stringify(item);
      const headers = { 'content-type': 'application/json' };
      await fetch(`${origin}/v3/table/ten/create`, { method: 'POST', headers, body });
    }
    const sessionUrl = `${origin}/v3/auth/session`;
    const headers = { cookie: browser.cookieHeader(sessionUrl) };
    const response = await browser.open(sessionUrl);
    if (JSON.parse(response.text).body.subject !== 'ursula')
      throw new Error(`the session is ${response.text}`);
    const load =
      (url: string, headers: Readonly<Record<string, string>> = {}) =>
      async ({ seconds }: Round) =>
        (await putUnderLoad(environment, { url, seconds, headers })).requestsPerSecond;
    const figures = await compareInRounds(conditions, {
      read: load(`${origin}/v3/table/ten/read`),
      ours: load(sessionUrl, headers),
    });
    return {
      rows: [
        {
          name: `session, ${usualConnections} connections`,
          unit: 'requests/s',
          ours: figures.ours,
          yardstick: { name: 'our read of a table of 10 items', figures: figures.read },
          goal: { of: 'ratio', side: 'least', bound: 0.6 },
        },
      ],
      remarks: [`The response has ${Buffer.byteLength(response.text)} bytes.`],
    };
  },
};

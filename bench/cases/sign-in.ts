import type { Case } from '../case.ts';
import { flushRemark, requireDisk } from '../disk.ts';
import { compareInRounds, type Round, spreadOf } from '../measure.ts';
import { knownBrowser, signInAgain, startSigningIn } from '../signing-in.ts';

const signIns = 1_000;
const atOnce = 32;
/** Sign-ins that are made one after the other, to measure the time of a single one. */
const measured = 200;

/** Sign-ins with a real identity provider, and the service's own share of the time. */
export const signIn: Case = {
  name: 'sign-in',
  summary: `signs ${signIns} times in, ${atOnce} at once, and one after the other`,

  async measure(environment, conditions) {
    requireDisk(environment.folder);
    const signing = await startSigningIn(environment, conditions, true);
    const logins = Array.from({ length: atOnce }, (_, index) => `user-${index}`);
    const browsers = await Promise.all(logins.map((login) => knownBrowser(signing, login)));

    const manyAtOnce = async () => {
      const began = performance.now();
      let begun = 0;
      const work = browsers.map(async (browser) => {
        while (begun++ < signIns) await signInAgain(signing, browser);
      });
      // Throws when a single one fails.
      await Promise.all(work);
      return signIns / ((performance.now() - began) / 1_000);
    };
    const ownShare = async ({ number }: Round) => {
      const [browser] = browsers;
      if (browser === undefined) throw new Error('there is no browser');
      const { begunMs, finishedMs, exchangesMs } = signing;
      const from = finishedMs.length;
      const count = number === 0 ? 20 : measured;
      for (let each = 0; each < count; each++) await signInAgain(signing, browser);
      // The last lines of the log may not have arrived yet; the median of the others is as good.
      const median = (figures: readonly number[]) => spreadOf(figures.slice(from)).median;
      return median(begunMs) + median(finishedMs) - median(exchangesMs);
    };
    const figures = await compareInRounds(conditions, { manyAtOnce, ownShare });
    return {
      rows: [
        {
          name: 'sign-in, the service’s own share, median',
          unit: 'ms',
          ours: figures.ownShare,
          goal: { of: 'figure', side: 'most', bound: 5 },
        },
        {
          name: `sign-in, ${signIns.toLocaleString('en')} at ${atOnce} at once, all succeed`,
          unit: 'requests/s',
          ours: figures.manyAtOnce,
          goal: { of: 'figure', side: 'least' },
        },
      ],
      remarks: [
        'The provider is oidc-provider in a process of its own; browsers, service and provider share the cores.',
        'The own share is the time of both requests in the service’s own log, less the provider’s time for the code exchange; the connection to the provider and the log count as ours.',
        flushRemark(environment.folder),
      ],
    };
  },
};

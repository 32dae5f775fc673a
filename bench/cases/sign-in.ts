import type { Case } from '../case.ts';
import { flushRemark, refuseMemory } from '../disk.ts';
import { compareInRounds, type Round, spreadOf } from '../measure.ts';
import { knownBrowser, signInAgain, startSigningIn } from '../signing-in.ts';

const signIns = 1_000;
const atOnce = 32;
/** One after the other, for what a single one takes. */
const measured = 200;

/** Sign-ins with a real identity provider, and what of one is the service's own. */
export const signIn: Case = {
  name: 'sign-in',
  summary: `signs ${signIns} times in, ${atOnce} at once, and one after the other`,

  async measure(workplace, conditions) {
    refuseMemory(workplace.folder);
    const signing = await startSigningIn(workplace, conditions, true);
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
      // Its last lines may still be on their way; the first ones are of the same kind.
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
        'The own share is what both requests took by the service’s own log, less the provider’s time for the exchange; the connection to it counts as ours, and so does the log.',
        flushRemark(workplace.folder),
      ],
    };
  },
};

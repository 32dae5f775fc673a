import type { Challenge, Challenges } from '../challenges.ts';
import type { ConnectedProcessor } from '../processor.ts';
import { FileLedger } from './file-ledger.ts';
import type { SimulatedLedger } from './ledger.ts';
import { RemoteLedger } from './remote-ledger.ts';
import { simulatedProcessor } from './simulated.ts';

/** The simulated processor, and the bank of its cardholders. */
export interface Simulation {
  readonly processor: ConnectedProcessor;
  readonly challenges: Challenges;
}

interface SimulationOptions {
  /** The file of the ledger. */
  readonly file: string;
  /** The origin of a ledger in another process, instead of the file. */
  readonly ledgerOrigin: string | undefined;
  /** The URL of the bank's pages; the id of a challenge follows. */
  readonly pages: string;
}

/** Throws SettingsError if the file cannot be written. */
export function openSimulation({ file, ledgerOrigin, pages }: SimulationOptions): Simulation {
  const ledger = ledgerOrigin === undefined ? FileLedger.open(file) : new RemoteLedger(ledgerOrigin);
  return {
    processor: simulatedProcessor(ledger, (id) => pages + id),
    challenges: cardholderBank(ledger),
  };
}

/** The bank's page is served by this service: a person plays the cardholder. */
function cardholderBank(ledger: SimulatedLedger): Challenges {
  const find = async (id: string): Promise<Challenge | undefined> => {
    const challenge = await ledger.findChallenge(id);
    if (challenge === undefined) return undefined;
    const { charge, returnUrl, reply } = challenge;
    const { amount, currency } = charge;
    return { amount, currency, returnUrl, isOpen: reply.kind === 'challenge' };
  };
  return {
    find,
    decide: async (id, isApproved) => {
      await ledger.decide(id, isApproved);
      return find(id);
    },
  };
}

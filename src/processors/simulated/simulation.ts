import type { Challenges } from '../challenges.ts';
import type { ConnectedProcessor } from '../processor.ts';
import { FileLedger } from './file-ledger.ts';
import { RemoteLedger } from './remote-ledger.ts';
import { challengesOf, simulatedProcessor } from './simulated.ts';

/** The simulated processor, and the bank of its cardholders. */
export interface Simulation {
  readonly processor: ConnectedProcessor;
  readonly challenges: Challenges;
}

export interface SimulationOptions {
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
    challenges: challengesOf(ledger),
  };
}

import { openPeople, type People } from '../app/offline/people.ts';
import { loadSettings } from '../settings/load.ts';

/** Opens users and sessions as in the settings, and closes them after the work. */
export async function withPeople<Result>(work: (people: People) => Promise<Result>): Promise<Result> {
  const settings = loadSettings({ env: process.env, file: 'counterfoil.json', simulate: false });
  const people = await openPeople(settings);
  try {
    return await work(people);
  } finally {
    await people.close();
  }
}

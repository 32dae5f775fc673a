import type { Case, Goal, Row } from '../case.ts';
import { fixtureTable } from '../fixtures.ts';
import { compareInRounds, countText, type Round } from '../measure.ts';
import { uncompressed } from '../reading.ts';
import { startService } from '../servers.ts';
import { putUnderLoad } from '../wrk.ts';

const few = 10;
const goal: Goal = { of: 'ratio', side: 'least', bound: 0.95 };

/** The cost of a 304 response must not grow with the table. */
export const unchanged: Case = {
  name: 'unchanged',
  summary: 'reads a table that has not changed, with If-None-Match',

  async measure(environment, conditions) {
    const { sizes, fixtures, log } = conditions;
    const name = `unchanged, ${countText(sizes.large)} items`;
    const tables = { [fixtureTable(few)]: few, [fixtureTable(sizes.large)]: sizes.large };
    const service = await startService(
      environment,
      conditions,
      await fixtures.with(environment, tables, log),
    );

    const load = async (items: number) => {
      const url = `${service.origin}/v3/table/${fixtureTable(items)}/read`;
      const etag = await etagOf(url);
      if (etag === null) return undefined;
      const headers = { ...uncompressed, 'if-none-match': etag };
      return async ({ seconds }: Round) => {
        const { status } = await fetch(url, { headers });
        if (status !== 304) throw new Error(`${url} returned ${status} for its own ETag`);
        return (await putUnderLoad(environment, { url, headers, seconds })).requestsPerSecond;
      };
    };
    const [ofFew, ofMany] = [await load(few), await load(sizes.large)];
    if (ofFew === undefined || ofMany === undefined) {
      return { rows: [{ name, goal, missing: 'the responses have no ETag' }], remarks: [] };
    }
    const figures = await compareInRounds(conditions, { few: ofFew, many: ofMany });
    const row: Row = {
      name,
      unit: 'requests/s',
      ours: figures.many,
      yardstick: { name: `the same with ${few} items`, figures: figures.few },
      goal,
    };
    return { rows: [row], remarks: ['All responses are 304, without a body.'] };
  },
};

async function etagOf(url: string): Promise<string | null> {
  const response = await fetch(url, { headers: uncompressed });
  await response.body?.cancel();
  return response.headers.get('etag');
}

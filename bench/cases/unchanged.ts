import type { Case, Goal, Row } from '../case.ts';
import { compareInRounds, countText, type Round } from '../measure.ts';
import { uncompressed } from '../reading.ts';
import { startService } from '../servers.ts';
import { stockTable } from '../stock.ts';
import { putUnderLoad } from '../wrk.ts';

const few = 10;
const goal: Goal = { of: 'ratio', side: 'least', bound: 0.95 };

/** Who asks whether a table has changed must not pay for its size. */
export const unchanged: Case = {
  name: 'unchanged',
  summary: 'asks with If-None-Match for a table that has not changed',

  async measure(workplace, conditions) {
    const { sizes, stock, tell } = conditions;
    const name = `unchanged, ${countText(sizes.large)} items`;
    const tables = { [stockTable(few)]: few, [stockTable(sizes.large)]: sizes.large };
    const service = await startService(workplace, conditions, await stock.with(workplace, tables, tell));

    const load = async (items: number) => {
      const url = `${service.origin}/v3/table/${stockTable(items)}/read`;
      const etag = await etagOf(url);
      if (etag === null) return undefined;
      const headers = { ...uncompressed, 'if-none-match': etag };
      return async ({ seconds }: Round) => {
        const { status } = await fetch(url, { headers });
        if (status !== 304) throw new Error(`${url} answered ${status} to its own ETag`);
        return (await putUnderLoad(workplace, { url, headers, seconds })).requestsPerSecond;
      };
    };
    const [ofFew, ofMany] = [await load(few), await load(sizes.large)];
    if (ofFew === undefined || ofMany === undefined) {
      return { rows: [{ name, goal, missing: 'the answers have no ETag' }], remarks: [] };
    }
    const figures = await compareInRounds(conditions, { few: ofFew, many: ofMany });
    const row: Row = {
      name,
      unit: 'requests/s',
      ours: figures.many,
      yardstick: { name: `the same with ${few} items`, figures: figures.few },
      goal,
    };
    return { rows: [row], remarks: ['All answers are 304, without a body.'] };
  },
};

async function etagOf(url: string): Promise<string | null> {
  const response = await fetch(url, { headers: uncompressed });
  await response.body?.cancel();
  return response.headers.get('etag');
}

import { join } from 'node:path';
import type { Case, Conditions, Goal, MeasuredRow, Row } from '../case.ts';
import { compareInRounds, countText, type Round } from '../measure.ts';
import { readOnce, timeReads } from '../reading.ts';
import { startNginx } from '../rivals/nginx.ts';
import { startService } from '../servers.ts';
import { stockTable } from '../stock.ts';
import { missingTool, nginx } from '../tools.ts';
import type { Workplace } from '../workplace.ts';

const connectionCounts = [1, 4] as const;
const timeGoal: Goal = { of: 'ratio', side: 'most', bound: 2 };
const firstByteGoal: Goal = { of: 'figure', side: 'most', bound: 10 };
const against = 'nginx sendfile, same bytes';

/** The documented read, where it is hardest: every item of a large table in one answer. */
export const readAll: Case = {
  name: 'read-all',
  summary: 'reads a large table as a whole',

  async measure(workplace, conditions) {
    const { sizes, stock, tell } = conditions;
    const table = stockTable(sizes.large);
    const data = await stock.with(workplace, { [table]: sizes.large }, tell);
    const service = await startService(workplace, conditions, data);
    const url = `${service.origin}/v3/table/${table}/read`;
    const { bytes, items } = await readOnce(url, sizes.large, join(workplace.folder, 'answer.json'));
    const lacking = missingTool(nginx);
    const yardstick = lacking === undefined ? await startNginx(workplace, workplace.folder) : undefined;

    const rows: Row[] = [];
    for (const connections of connectionCounts) {
      tell(`  ${connections} at once, in ms`);
      const name = `read, ${countText(items)} items, ${connections} at once`;
      const sides = { ours: url, ...(yardstick && { nginx: `${yardstick.origin}/answer.json` }) };
      const { answer, firstByte } = await timeSides(workplace, conditions, { sides, connections, bytes });
      rows.push(
        answer.yardstick === undefined
          ? { name, against, goal: timeGoal, missing: lacking ?? '' }
          : { name, unit: 'ms', ...answer, goal: timeGoal },
        { name: `${name}: first byte`, unit: 'ms', ...firstByte, goal: firstByteGoal },
      );
    }
    return {
      rows,
      remarks: [
        `The answer has ${countText(bytes)} bytes. Its time runs from the request to the last byte, the mean of a ` +
          'round; that of the first byte is the median of a round. nginx has one worker and the file in memory; the ' +
          'client (`bench/read-client.ts`) is the same for both, and faster than wrk with its small pieces.',
      ],
    };
  },
};

interface TimedSides {
  readonly sides: { readonly ours: string; readonly nginx?: string };
  readonly connections: number;
  readonly bytes: number;
}

type Figures = Pick<MeasuredRow, 'ours' | 'yardstick'>;

async function timeSides(
  workplace: Workplace,
  conditions: Conditions,
  { sides, connections, bytes }: TimedSides,
): Promise<{ readonly answer: Figures; readonly firstByte: Figures }> {
  const firstByte: Record<string, number[]> = {};
  const side = (name: string, url: string) => async (round: Round) => {
    const reading = await timeReads(workplace, {
      url,
      connections,
      seconds: round.seconds,
      bodyBytes: bytes,
    });
    if (round.number > 0) firstByte[name] = [...(firstByte[name] ?? []), reading.firstByteMs];
    return reading.answerMs;
  };
  const answer = await compareInRounds<string>(
    conditions,
    Object.fromEntries(Object.entries(sides).map(([name, url]) => [name, side(name, url)])),
  );
  return { answer: asFigures(answer), firstByte: asFigures(firstByte) };
}

function asFigures({ ours = [], nginx: beside }: Partial<Record<string, number[]>>): Figures {
  return { ours, ...(beside && { yardstick: { name: against, figures: beside } }) };
}

import { join } from 'node:path';
import type { Case, Conditions, Goal, MeasuredRow, Row } from '../case.ts';
import type { Environment } from '../environment.ts';
import { fixtureTable } from '../fixtures.ts';
import { compareInRounds, countText, type Round } from '../measure.ts';
import { readOnce, timeReads } from '../reading.ts';
import { startNginx } from '../rivals/nginx.ts';
import { startService } from '../servers.ts';
import { missingTool, nginx } from '../tools.ts';

const connectionCounts = [1, 4] as const;
const timeGoal: Goal = { of: 'ratio', side: 'most', bound: 2 };
const firstByteGoal: Goal = { of: 'figure', side: 'most', bound: 10 };
const against = 'nginx sendfile, same bytes';

/** The hardest read: every item of a large table in one response. */
export const readAll: Case = {
  name: 'read-all',
  summary: 'reads a large table as a whole',

  async measure(environment, conditions) {
    const { sizes, fixtures, log } = conditions;
    const table = fixtureTable(sizes.large);
    const data = await fixtures.with(environment, { [table]: sizes.large }, log);
    const service = await startService(environment, conditions, data);
    const url = `${service.origin}/v3/table/${table}/read`;
    const { bytes, items } = await readOnce(url, sizes.large, join(environment.folder, 'response.json'));
    const missing = missingTool(nginx);
    const yardstick = missing === undefined ? await startNginx(environment, environment.folder) : undefined;

    const rows: Row[] = [];
    for (const connections of connectionCounts) {
      log(`  ${connections} at once, in ms`);
      const name = `read, ${countText(items)} items, ${connections} at once`;
      const sides = { ours: url, ...(yardstick && { nginx: `${yardstick.origin}/response.json` }) };
      const { response, firstByte } = await timeSides(environment, conditions, { sides, connections, bytes });
      rows.push(
        response.yardstick === undefined
          ? { name, against, goal: timeGoal, missing: missing ?? '' }
          : { name, unit: 'ms', ...response, goal: timeGoal },
        { name: `${name}: first byte`, unit: 'ms', ...firstByte, goal: firstByteGoal },
      );
    }
    return {
      rows,
      remarks: [
        `The response has ${countText(bytes)} bytes. Its time runs from the request to the last byte, and is the mean ` +
          'of a round; the time to the first byte is the median of a round. nginx has one worker and the file in ' +
          'memory. Both have the same client (`bench/read-client.ts`), which is faster than wrk with its small reads.',
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
  environment: Environment,
  conditions: Conditions,
  { sides, connections, bytes }: TimedSides,
): Promise<{ readonly response: Figures; readonly firstByte: Figures }> {
  const firstByte: Record<string, number[]> = {};
  const side = (name: string, url: string) => async (round: Round) => {
    const reading = await timeReads(environment, {
      url,
      connections,
      seconds: round.seconds,
      bodyBytes: bytes,
    });
    if (round.number > 0) firstByte[name] = [...(firstByte[name] ?? []), reading.firstByteMs];
    return reading.responseMs;
  };
  const response = await compareInRounds<string>(
    conditions,
    Object.fromEntries(Object.entries(sides).map(([name, url]) => [name, side(name, url)])),
  );
  return { response: asFigures(response), firstByte: asFigures(firstByte) };
}

function asFigures({ ours = [], nginx: rival }: Partial<Record<string, number[]>>): Figures {
  return { ours, ...(rival && { yardstick: { name: against, figures: rival } }) };
}

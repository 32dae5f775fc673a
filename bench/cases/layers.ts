import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Case, Page } from '../case.ts';
import { compareInRounds, type Round, type Spread, shortNumber, spreadOf } from '../measure.ts';
import { cpuUsPerRequest } from '../resources.ts';
import { newKey, type Server, startLayer, startService, startYardstick } from '../servers.ts';
import { createTen, tenItems } from '../ten-items.ts';
import { usualConnections } from '../wrk.ts';

const partial = ['framework', 'hooks', 'access', 'metrics', 'route'] as const;
const names: Readonly<Record<string, string>> = {
  bare: 'bare node:http',
  framework: 'the framework, one route',
  hooks: '+ listener and hooks',
  access: '+ access: key and limits',
  metrics: '+ metrics',
  route: '+ route',
  store: '+ store: the whole service',
};

/** Where the time of a small request goes, so that a regression has a name. */
export const layers: Case = {
  name: 'layers',
  summary: 'counts the CPU time of a read of 10 items, layer by layer',

  async measure(environment, conditions) {
    const data = join(environment.folder, 'with-key');
    const key = await newKey(environment, data, ['tables:read', 'tables:write']);
    const headers = { authorization: `Bearer ${key}` };
    const limits = { COUNTERFOIL_LIMIT_REQUESTS: '1000000', COUNTERFOIL_LOG_LEVEL: 'warn' };
    const service = await startService(environment, conditions, data, limits);
    await createTen(service.origin, headers);
    const bodyFile = join(environment.folder, 'body.json');
    writeFileSync(bodyFile, JSON.stringify({ statusCode: 200, body: tenItems }));

    const servers: Record<string, Server> = { bare: await startYardstick(environment, bodyFile) };
    for (const layer of partial) servers[layer] = await startLayer(environment, layer, bodyFile, data);
    servers.store = service;
    const sides = Object.entries(servers).map(([name, { origin, program }]) => {
      const load = ({ seconds }: Round) =>
        cpuUsPerRequest(environment, program, { url: `${origin}/v3/table/ten/read`, headers, seconds });
      return [name, load] as const;
    });
    const figures = await compareInRounds<string>(conditions, Object.fromEntries(sides));
    return { rows: [], remarks: [], page: pageOf(figures) };
  },
};

function pageOf(figures: Readonly<Record<string, readonly number[]>>): Page {
  const bare = figures.bare ?? [];
  const rows = Object.entries(figures).map(([layer, cpuUs]) => ({
    row: names[layer] as string,
    cpuUs: spreadOf(cpuUs),
    ratio: spreadOf(cpuUs.map((each, round) => each / (bare[round] as number))),
  }));
  const lines = rows.map(({ row, cpuUs, ratio }) => `| ${row} | ${text(cpuUs)} | ${text(ratio)} × |`);
  return {
    file: 'LAYERS.md',
    title: 'Where the time of a small request goes',
    body: `The CPU time of a read of 10 items with an API key, user and system, of all threads of the process, with
${usualConnections} connections. Each layer contains the ones above it (bench/layer-server.ts).

| layer | µs per request | to bare node:http |
| --- | --- | --- |
${lines.join('\n')}

Figures are medians of the rounds, their ranges in brackets; ratios are computed within a round.

![CPU time of each layer, divided by that of bare node:http](../docs/layers.svg)
`,
    plots: [
      {
        file: 'layers',
        title: 'CPU time of a read of 10 items, layer by layer',
        subtitle: 'divided by that of bare node:http; each layer contains the ones above it',
        rows: rows.map(({ row }) => row),
        series: ['CPU time'],
        points: rows.map(({ row, ratio }) => ({ row, series: 'CPU time', ...ratio })),
      },
    ],
  };
}

function text({ median, min, max }: Spread): string {
  return `${shortNumber(median)} [${shortNumber(min)}–${shortNumber(max)}]`;
}

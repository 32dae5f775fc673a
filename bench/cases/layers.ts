import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Case, Row } from '../case.ts';
import { cpuUsPerRequest } from '../cpu-time.ts';
import { compareInRounds, type Round } from '../measure.ts';
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
    const bare = { name: names.bare as string, figures: figures.bare ?? [] };
    return {
      rows: Object.entries(figures).map(
        ([name, ours]): Row => ({
          name: `CPU of a read of 10 items: ${names[name]}`,
          unit: 'µs',
          ours,
          yardstick: bare,
          goal: { of: 'ratio', side: 'most' },
        }),
      ),
      remarks: [
        `CPU time of the whole process, user and system, per response, with ${usualConnections} connections and a key.`,
      ],
      bars: [
        {
          file: 'layers',
          title: 'CPU time of a read of 10 items, layer by layer',
          subtitle: 'Microseconds per request, user and system; each layer contains the ones above it.',
          bars: Object.entries(figures).map(([name, all]) => ({ name: names[name] as string, figures: all })),
        },
      ],
    };
  },
};

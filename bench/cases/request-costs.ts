import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Case, Goal, Row } from '../case.ts';
import type { Program } from '../environment.ts';
import { takeStream } from '../items.ts';
import { compareInRounds, type Round } from '../measure.ts';
import { chargePath, charges, sameCharge } from '../paying.ts';
import { cpuUsPerRequest } from '../resources.ts';
import {
  newKey,
  type Server,
  startPayingService,
  startProcessor,
  startService,
  startYardstick,
} from '../servers.ts';
import { createTen, tenItems, tenTable } from '../ten-items.ts';
import { itemBody, type Load } from '../wrk.ts';

interface Kind {
  readonly name: string;
  /** The kind that it is compared with. */
  readonly against?: string;
  /** At most this multiple of it. */
  readonly bound?: number;
  readonly program: Program;
  /** Called for each round. */
  readonly load: () => Omit<Load, 'seconds'>;
}

/** The CPU time of each kind of small request. What a shared machine does beside changes it less than requests per second. */
export const requestCosts: Case = {
  name: 'request-costs',
  summary: 'counts the CPU time of each kind of small request',

  async measure(environment, conditions) {
    const bodyFile = join(environment.folder, 'body.json');
    writeFileSync(bodyFile, JSON.stringify({ statusCode: 200, body: tenItems }));
    const bare = await startYardstick(environment, bodyFile);
    const { origin: processor } = await startProcessor(environment);
    const open = await startPayingService(environment, conditions, processor);
    await createTen(open.origin);
    const keyed = join(environment.folder, 'keyed');
    const key = await newKey(environment, keyed, ['tables:read', 'tables:write']);
    const limits = { COUNTERFOIL_LIMIT_REQUESTS: '1000000', COUNTERFOIL_LOG_LEVEL: 'warn' };
    const closed = await startService(environment, conditions, keyed, limits);
    await createTen(closed.origin, { authorization: `Bearer ${key}` });

    const newItem = () => ({
      requests: { method: 'POST', body: itemBody, items: { kind: 'new', stream: takeStream() } } as const,
    });
    const to = ({ program, origin }: Server, path: string, more: () => Partial<Load> = () => ({})) => ({
      program,
      load: () => ({ url: origin + path, ...more() }),
    });
    const withKey = (text: string | undefined) =>
      to(closed, `${tenTable}/read`, () => ({
        headers: text === undefined ? {} : { authorization: `Bearer ${text}` },
        mayFail: true,
      }));
    const kinds: readonly Kind[] = [
      { name: 'bare GET', ...to(bare, '/') },
      { name: 'bare JSON echo', ...to(bare, '/', newItem) },
      { name: 'livez', ...to(open, '/livez'), against: 'bare GET' },
      { name: 'read of 10 items', ...to(open, `${tenTable}/read`), against: 'bare GET' },
      {
        name: 'read of 10 items with a key',
        ...withKey(key),
        against: 'read of 10 items',
        bound: 1 / 0.9,
      },
      {
        name: 'read of one item by id',
        ...to(open, `${tenTable}/read?id=item-3`),
        against: 'read of 10 items',
        bound: 1 / 0.9,
      },
      {
        name: 'unknown path',
        ...to(open, '/v3/unknown', () => ({ mayFail: true })),
        against: 'livez',
        bound: 1 / 0.9,
      },
      { name: 'no key', ...withKey(undefined), against: 'livez', bound: 1 / 0.9 },
      {
        name: 'wrong key',
        ...withKey(`${key.slice(0, -4)}0000`),
        against: 'livez',
        bound: 1 / 0.9,
      },
      {
        name: 'create',
        ...to(open, '/v3/table/new/create', newItem),
        against: 'bare JSON echo',
        bound: 1 / 0.5,
      },
      { name: 'charge', ...to(open, chargePath, () => ({ requests: charges() })), against: 'bare JSON echo' },
      {
        name: 'replay of a payment',
        ...to(open, chargePath, () => ({ headers: { 'idempotency-key': 'order-1042' }, body: sameCharge })),
        against: 'read of 10 items',
        bound: 1 / 0.7,
      },
    ];
    const sides = kinds.map(({ name, program, load }) => {
      const measure = ({ seconds }: Round) => cpuUsPerRequest(environment, program, { ...load(), seconds });
      return [name, measure] as const;
    });
    const figures = await compareInRounds<string>(conditions, Object.fromEntries(sides));
    return {
      rows: kinds.map((kind) => rowOf(kind, figures)),
      remarks: ['CPU time of the whole process of the service, user and system, per response.'],
    };
  },
};

function rowOf({ name, against, bound }: Kind, figures: Readonly<Record<string, number[]>>): Row {
  const ours = figures[name] ?? [];
  if (against === undefined)
    return { name: `CPU of ${name}`, unit: 'µs', ours, goal: { of: 'figure', side: 'most' } };
  const goal: Goal = { of: 'ratio', side: 'most', ...(bound === undefined ? {} : { bound }) };
  const yardstick = { name: against, figures: figures[against] ?? [] };
  return { name: `CPU of ${name}`, unit: 'µs', ours, yardstick, goal };
}

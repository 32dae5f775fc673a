import { ServiceError } from '../errors.ts';
import type { InFlight } from '../in-flight.ts';
import type { Log } from '../log.ts';
import type { Processor } from '../processors/processor.ts';
import type { Sealer } from '../secrets/sealer.ts';
import type { Engine } from '../storage/engine.ts';
import type { RoutePolicy } from './order.ts';
import { type Payment, paymentsSpace } from './payment.ts';

/** What payments need; `main.ts` fills it in. */
export interface PaymentParts {
  readonly engine: Engine;
  /** By path segment; undefined stands for a processor that is known but has no key in the settings. */
  readonly processors: ReadonlyMap<string, Processor | undefined>;
  readonly routes: ReadonlyMap<string, RoutePolicy>;
  readonly sealer: Sealer;
  readonly log: Log;
  /** What a stop waits for. */
  readonly inFlight: InFlight;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export function findProcessor({ processors }: PaymentParts, name: string): Processor {
  const processor = processors.get(name);
  if (processor !== undefined) return processor;
  throw new ServiceError(processors.has(name) ? 'processor_not_configured' : 'processor_not_found');
}

export function findRoute({ routes }: PaymentParts, name: string): RoutePolicy {
  const route = routes.get(name);
  if (route === undefined)
    throw new ServiceError('route_not_found', { message: 'There is no payment route of this name.' });
  return route;
}

export async function findPayment({ engine }: PaymentParts, id: string): Promise<Payment | undefined> {
  const text = await engine.get(paymentsSpace, id);
  return text === undefined ? undefined : (JSON.parse(text) as Payment);
}

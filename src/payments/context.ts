import { ServiceError } from '../errors.ts';
import type { InFlight } from '../lifecycle.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { Processor } from '../processors/processor.ts';
import type { Sealer } from '../secrets/sealer.ts';
import type { Engine, Write } from '../storage/engine.ts';
import type { Item } from '../storage/item-text.ts';
import type { Traces } from '../tracing.ts';
import type { Accounts } from './accounts.ts';
import type { RoutePolicy } from './charge/request.ts';
import type { Drivers } from './ownership/heartbeat.ts';
import type { Payment } from './payment.ts';
import { findPayment } from './payment-store.ts';
import type { FinalPayments } from './replay-cache.ts';

/** What payments need. */
export interface PaymentParts {
  readonly engine: Engine;
  /** By path segment; undefined stands for a processor that is known but has no key in the settings. */
  readonly processors: ReadonlyMap<string, Processor | undefined>;
  readonly routes: ReadonlyMap<string, RoutePolicy>;
  readonly sealer: Sealer;
  readonly drivers: Drivers;
  readonly finals: FinalPayments;
  readonly accounts: Accounts;
  /** For how long a charge in doubt is asked for again, from when a caller last wanted it. */
  readonly wantedMs: number;
  /** The write that makes an item of a table. Throws ServiceError for what no table takes. */
  readonly itemWrite: (table: string, item: Item) => Write;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly traces: Traces;
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

/** The payment of this id on this route. Refuses with `processor_not_found`, `route_not_found`, `payment_not_found`. */
export async function findPaymentOn(
  parts: PaymentParts,
  { processor, route, paymentId }: { processor: string; route: string; paymentId: string },
): Promise<Payment> {
  findProcessor(parts, processor);
  findRoute(parts, route);
  const payment = await findPayment(parts, paymentId);
  if (payment?.processor !== processor || payment.route !== route)
    throw new ServiceError('payment_not_found');
  return payment;
}

import { ServiceError } from '../errors.ts';
import type { InFlight } from '../lifecycle.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { ConnectedProcessor } from '../processors/processor.ts';
import type { Sealer } from '../secrets/sealer.ts';
import type { Engine } from '../storage/engine.ts';
import type { Traces } from '../tracing.ts';
import type { Accounts } from './accounts.ts';
import type { TriedCards } from './charge/tried-cards.ts';
import type { ItemWriter } from './fulfilment.ts';
import type { LookUpPace } from './look-up-pace.ts';
import type { Heartbeats } from './ownership/heartbeat.ts';
import type { Payment } from './payment.ts';
import type { RoutePolicy } from './payment-routes.ts';
import type { Prices } from './prices.ts';
import type { ReplayCache } from './replay-cache.ts';
import type { PaymentsOpen } from './restored.ts';

/** The dependencies of payments. */
export interface PaymentContext extends ItemWriter {
  readonly engine: Engine;
  /** By path segment; undefined for a known processor without a key in the settings. */
  readonly processors: ReadonlyMap<string, ConnectedProcessor | undefined>;
  readonly routes: ReadonlyMap<string, RoutePolicy>;
  readonly prices: Prices;
  readonly sealer: Sealer;
  readonly heartbeats: Heartbeats;
  readonly replayCache: ReplayCache;
  readonly paymentsOpen: PaymentsOpen;
  readonly accounts: Accounts;
  /** How long a charge in doubt is requested again after a caller last wanted it. */
  readonly wantedMs: number;
  /** How long a cardholder may take to authenticate a payment. */
  readonly authenticationMs: number;
  readonly lookUpPace: LookUpPace<Payment>;
  readonly triedCards: TriedCards;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly traces: Traces;
  /** The work that a shutdown waits for. */
  readonly inFlight: InFlight;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** What it takes to settle a charge, with the item that it pays for. */
export type SettleChargeContext = Pick<
  PaymentContext,
  'engine' | 'log' | 'metrics' | 'now' | 'itemWrite' | 'sealer' | 'authenticationMs' | 'triedCards'
>;

/** What it takes to settle a refund, and to delete the item of a payment whose money is returned. */
export type SettleRefundContext = Pick<PaymentContext, 'engine' | 'log' | 'metrics' | 'now' | 'itemDeletion'>;

export function findProcessor(
  { processors }: Pick<PaymentContext, 'processors'>,
  name: string,
): ConnectedProcessor {
  const processor = processors.get(name);
  if (processor !== undefined) return processor;
  throw new ServiceError(processors.has(name) ? 'processor_not_configured' : 'processor_not_found');
}

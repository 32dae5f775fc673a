import { LRUCache } from 'lru-cache';
import { ServiceError } from '../errors.ts';
import { InFlight } from '../lifecycle.ts';
import type { Log } from '../log.ts';
import type { ConnectedProcessor } from '../processors/processor.ts';
import type { Sealer } from '../secrets/sealer.ts';
import type { Engine } from '../storage/engine.ts';
import type { Metrics, Traces } from '../telemetry.ts';
import { Accounts } from './accounts.ts';
import type { CardCounts } from './card-testing.ts';
import type { ItemWriter } from './fulfilment.ts';
import { authenticationLookUpPauseMs, authenticationLookUpsMax, authenticationsPacedMax } from './limits.ts';
import { Heartbeats } from './ownership/heartbeat.ts';
import type { Payment } from './payment.ts';
import type { RoutePolicy } from './payment-routes.ts';
import { ReplayCache } from './payment-store.ts';
import { PaymentsLock } from './payments-lock.ts';
import { Prices } from './prices.ts';

/** The dependencies of payments, for their own files. Other folders see `Payments` (`payments.ts`). */
export interface PaymentContext extends ItemWriter {
  readonly engine: Engine;
  /** By path segment; undefined for a known processor without a key in the settings. */
  readonly processors: ReadonlyMap<string, ConnectedProcessor | undefined>;
  readonly routes: ReadonlyMap<string, RoutePolicy>;
  readonly prices: Prices;
  readonly sealer: Sealer;
  readonly heartbeats: Heartbeats;
  readonly replayCache: ReplayCache;
  readonly lock: PaymentsLock;
  readonly accounts: Accounts;
  /** How long a charge in doubt is requested again after a caller last wanted it. */
  readonly retryMs: number;
  /** How long a cardholder may take to authenticate a payment. */
  readonly authenticationMs: number;
  readonly lookUpThrottle: LookUpThrottle<Payment>;
  readonly cardTesting: CardCounts['cardTesting'];
  readonly log: Log;
  readonly metrics: Metrics;
  readonly traces: Traces;
  /** The work that a shutdown waits for. */
  readonly inFlight: InFlight;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** What the caller gives `Payments`; it makes the rest of its context itself. */
export interface PaymentsOptions
  extends Pick<
    PaymentContext,
    | 'engine'
    | 'sealer'
    | 'processors'
    | 'routes'
    | 'itemWrite'
    | 'itemDeletion'
    | 'cardTesting'
    | 'retryMs'
    | 'authenticationMs'
    | 'log'
    | 'metrics'
    | 'traces'
    | 'now'
  > {
  /** Another process that owns charges counts as dead after this silence; by default the limit of the same name. */
  readonly ownerSilenceMsMax?: number | undefined;
}

/** @param options a test may give further parts of the context */
export function paymentContext({
  ownerSilenceMsMax,
  ...options
}: PaymentsOptions & Partial<PaymentContext>): PaymentContext {
  const { engine, log, itemWrite } = options;
  return {
    prices: new Prices({ engine, log, itemWrite }),
    heartbeats: new Heartbeats(engine, ownerSilenceMsMax),
    replayCache: new ReplayCache(),
    lock: new PaymentsLock(engine),
    accounts: new Accounts(engine),
    lookUpThrottle: new LookUpThrottle(),
    inFlight: new InFlight(),
    ...options,
  };
}

/** What settling a charge needs, with the item that it pays for. */
export type SettleChargeContext = Pick<
  PaymentContext,
  'engine' | 'log' | 'metrics' | 'now' | 'itemWrite' | 'sealer' | 'authenticationMs' | 'cardTesting'
>;

/** What settling a refund needs, and deleting the item of a payment whose money is returned. */
export type SettleRefundContext = Pick<PaymentContext, 'engine' | 'log' | 'metrics' | 'now' | 'itemDeletion'>;

export function findProcessor(
  { processors }: Pick<PaymentContext, 'processors'>,
  name: string,
): ConnectedProcessor {
  const processor = processors.get(name);
  if (processor !== undefined) return processor;
  throw new ServiceError(processors.has(name) ? 'processor_not_configured' : 'processor_not_found');
}

/** Paces the look-ups of payments that wait for their cardholder, however often callers ask about them. */
export class LookUpThrottle<Result> {
  readonly #begun = new LRUCache<string, true>({
    max: authenticationsPacedMax,
    ttl: authenticationLookUpPauseMs,
  });

  readonly #running = new Map<string, Promise<Result>>();

  /**
   * Starts a look-up of the payment, or joins the one that is under way. The number of look-ups is limited, so that
   * callers leave calls to recovery.
   *
   * @returns undefined if a look-up has just begun, or if too many are under way
   */
  run(paymentId: string, lookUp: () => Promise<Result>): Promise<Result> | undefined {
    const running = this.#running.get(paymentId);
    if (running !== undefined) return running;
    if (this.#begun.has(paymentId) || this.#running.size >= authenticationLookUpsMax) return undefined;
    this.#begun.set(paymentId, true);
    const started = lookUp().finally(() => this.#running.delete(paymentId));
    this.#running.set(paymentId, started);
    return started;
  }
}

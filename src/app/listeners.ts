import { countedAddress } from '../addresses.ts';
import { CallerAddresses } from '../http/server/caller-address.ts';
import { Listener } from '../http/server/listener.ts';
import type { LoadBounds } from '../http/server/load-shedding.ts';
import type { Settings } from '../settings/schema.ts';

export interface ListenerSettings {
  /** Whether several processes listen on the same port and share its connections. */
  readonly sharesPort?: boolean | undefined;
  /** Set if others serve already: then this process accepts no connection before it can serve it. */
  readonly joins?: SharedOrigins | undefined;
  /** When requests are shed; the limits of the same names by default. */
  readonly load?: LoadBounds | undefined;
  /** How long a response may make no progress; the limit of the same name by default. */
  readonly responseStallMs?: number | undefined;
}

/** Where other processes of the service accept connections already: `http://host:port`. */
export interface SharedOrigins {
  readonly origin: string;
  /** Of payments; the same unless they have a listener of their own. */
  readonly paymentOrigin: string;
}

/** The main listener and the one for payments. They are the same unless the settings give payments a port. */
export class Listeners {
  readonly main: Listener;
  readonly payments: Listener;
  readonly #joins: SharedOrigins | undefined;

  private constructor(main: Listener, payments: Listener, joins: SharedOrigins | undefined) {
    this.main = main;
    this.payments = payments;
    this.#joins = joins;
  }

  /**
   * Listens on both ports, and responds that the service is starting. A process that joins others listens only after `begin`: the
   * kernel would give it connections that the others can serve. Throws what listening throws.
   */
  static async open(settings: Settings, options: ListenerSettings = {}): Promise<Listeners> {
    const { host, port, payments, trustedProxies } = settings;
    const callers = new CallerAddresses(trustedProxies);
    const listenerOn = (on: { readonly host: string; readonly port: number }) =>
      new Listener({
        ...on,
        reusePort: options.sharesPort,
        bounds: options.load,
        responseStallMs: options.responseStallMs,
        isTrustedProxy: (address) => callers.isTrusted(address),
        callerBehind: (proxy, headers) => countedAddress(callers.find(proxy, headers)),
      });
    const main = listenerOn({ host, port });
    const ofPayments =
      payments.port === undefined ? main : listenerOn({ host: payments.host ?? host, port: payments.port });
    const listeners = new Listeners(main, ofPayments, options.joins);
    if (options.joins === undefined) await listeners.#listen();
    return listeners;
  }

  /** Call it when the service can serve. Throws what listening throws. */
  async begin(): Promise<void> {
    if (this.#joins !== undefined) await this.#listen();
  }

  async #listen(): Promise<void> {
    try {
      await this.main.open();
      if (this.areSeparate) await this.payments.open();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** `http://host:port`, as a client on this machine reaches it. */
  get origin(): string {
    return this.#joins?.origin ?? this.main.origin;
  }

  get paymentOrigin(): string {
    return this.#joins?.paymentOrigin ?? this.payments.origin;
  }

  get areSeparate(): boolean {
    return this.main !== this.payments;
  }

  /** Whether requests have been shed for longer than a burst. */
  isShedding(): boolean {
    return this.main.load.isSheddingForLong() || this.payments.load.isSheddingForLong();
  }

  async stop(): Promise<void> {
    await Promise.all([this.main.stop(), this.payments.stop()]);
  }
}

/** Throws what listening throws, for instance EADDRINUSE. */
export async function checkPortsAreFree(settings: Settings): Promise<void> {
  await (await Listeners.open(settings)).stop();
}

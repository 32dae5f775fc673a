import { CallerAddresses } from '../http/server/caller-address.ts';
import { Listener } from '../http/server/listener.ts';
import type { LoadBounds } from '../http/server/load-shedding.ts';
import type { Settings } from '../settings/schema.ts';

export interface ListenerSettings {
  /** Whether several processes listen on the same port and share its connections. */
  readonly sharesPort?: boolean | undefined;
  /** When requests are shed; the limits of the same names by default. */
  readonly load?: LoadBounds | undefined;
  /** How long a response may make no progress; the limit of the same name by default. */
  readonly responseStallMs?: number | undefined;
}

/** The listener of the service, and that of payments, which is the same unless the settings give it a port. */
export class Listeners {
  readonly main: Listener;
  readonly payments: Listener;

  private constructor(main: Listener, payments: Listener) {
    this.main = main;
    this.payments = payments;
  }

  /** Listens on both ports, and responds that the service is starting. Throws what listening throws. */
  static async open(settings: Settings, options: ListenerSettings = {}): Promise<Listeners> {
    const { host, port, payments, trustedProxies } = settings;
    const callers = new CallerAddresses(trustedProxies);
    const listen = (on: { readonly host: string; readonly port: number }) =>
      Listener.listen({
        ...on,
        reusePort: options.sharesPort,
        bounds: options.load,
        responseStallMs: options.responseStallMs,
        isTrustedProxy: (address) => callers.isTrusted(address),
      });
    const main = await listen({ host, port });
    if (payments.port === undefined) return new Listeners(main, main);
    try {
      return new Listeners(main, await listen({ host: payments.host ?? host, port: payments.port }));
    } catch (error) {
      await main.stop();
      throw error;
    }
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

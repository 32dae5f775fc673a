import type { RunningService } from './counterfoil.ts';

/** Ends the example, and the service with it, at Ctrl-C or SIGTERM. */
export function stopWith(service: RunningService): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      void service.close().then(() => process.exit(0));
    });
  }
}

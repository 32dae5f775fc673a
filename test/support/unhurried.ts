import { registerHooks } from 'node:module';

/**
 * Preloaded into a service (`node --import`), it raises the limits of time at which requests are shed. On a machine that is
 * busy with other tests, a service would otherwise respond 503 to requests that a test expects to be served.
 */
const minute = 60_000;

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.endsWith('/src/http/server/load-shedding.ts')) return loaded;
    const source = String(loaded.source);
    const raised = source.replace(
      /^(export const (?:requestWaitMsMax|eventLoopDelayMsMax)) = 500;$/gm,
      `$1 = ${minute};`,
    );
    if (raised.length !== source.length + 2 * (`${minute}`.length - '500'.length))
      throw new Error('the limits at which requests are shed have changed');
    return { ...loaded, source: raised };
  },
});

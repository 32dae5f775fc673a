import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from 'jose';
import { outboundMsMax, providerKeysAgeMsMax, providerKeysPauseMs } from './limits.ts';
import type { Fetch } from './outbound.ts';

/**
 * The keys that a provider signs by. A key that is not among those that are known is looked for once, at once: a
 * provider may have begun to use it a moment ago. After that not again for a while, so that tokens that name keys which
 * nobody has do not make us a flood.
 */
export function providerKeys(address: URL, fetch: Fetch): JWTVerifyGetKey {
  const keys = createRemoteJWKSet(address, {
    [customFetch]: (url, init) => fetch(url, init),
    timeoutDuration: outboundMsMax,
    cacheMaxAge: providerKeysAgeMsMax,
    // The library's own pause begins with any load, and would keep a key that is new from being found.
    cooldownDuration: Number.MAX_SAFE_INTEGER,
  });
  let renewals = 0;
  let renewedAt = Number.NEGATIVE_INFINITY;
  const renew = async () => {
    renewedAt = performance.now();
    await keys.reload();
    renewals++;
  };
  return async (header, token) => {
    const seen = renewals;
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const isRenewed = renewals !== seen;
      const mayRenew = keys.reloading || performance.now() - renewedAt > providerKeysPauseMs;
      if (!isRenewed && !mayRenew) throw error;
      if (!isRenewed) await renew();
      return keys(header, token);
    }
  };
}

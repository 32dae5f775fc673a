import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from 'jose';
import { outboundMsMax, providerKeysAgeMsMax, providerKeysPauseMs } from './limits.ts';
import type { Fetch } from './outbound.ts';

/**
 * The signing keys of a provider. An unknown key id reloads the key set at once, because the provider may have just added the
 * key. Then there is no further reload for `providerKeysPauseMs`, so that tokens with false key ids cause no flood.
 */
export function providerKeys(address: URL, fetch: Fetch): JWTVerifyGetKey {
  const keys = createRemoteJWKSet(address, {
    [customFetch]: (url, init) => fetch(url, init),
    timeoutDuration: outboundMsMax,
    cacheMaxAge: providerKeysAgeMsMax,
    // The library's pause begins with any load, and would delay the use of a new key.
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

import type { TestContext } from 'node:test';
import { bearing, newKey } from '../access/keys.ts';
import { ScriptedOidc, type Tls } from '../oidc/scripted-oidc.ts';
import { newDataFolder, startTestService } from '../service.ts';
import { credentials } from '../sign-in/signing-in.ts';

const path = '/v3/create/service/auth/oidc/web';

/** A service with an API key, and a provider on this machine that is registered with that key. */
export async function startWithLocalIssuer(
  t: TestContext,
  { env = {}, tls, data = newDataFolder(t) }: { env?: Record<string, string>; tls?: Tls; data?: string } = {},
) {
  const key = await newKey(data);
  const service = await startTestService(t, { data, env });
  const provider = await ScriptedOidc.start(t, tls === undefined ? {} : { tls });
  const register = (issuer = provider.issuer, query = '?verify=true') =>
    service.post(path + query, { ...credentials, IDP_ISSUER: issuer }, bearing(key));
  const begin = () => fetch(`${service.origin}/v3/auth/oidc/web/sign-in`, { redirect: 'manual' });
  return { service, provider, register, begin, data };
}

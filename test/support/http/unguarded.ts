import type { AppOptions } from '../../../src/http/server/app.ts';
import { CallerAddresses } from '../../../src/http/server/caller-address.ts';
import { CrossOrigin } from '../../../src/http/server/cors.ts';

/** A door that lets everybody in, for tests of what is behind it. */
export const unguarded: Pick<AppOptions, 'authorizer' | 'crossOrigin' | 'isHttpsOnly' | 'callerAddresses'> = {
  authorizer: { admit: () => undefined },
  crossOrigin: new CrossOrigin([], () => new Set()),
  isHttpsOnly: false,
  callerAddresses: new CallerAddresses([]),
};

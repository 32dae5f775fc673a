import type { AppOptions } from '../../../src/http/server/app.ts';
import { CallerAddresses } from '../../../src/http/server/caller-address.ts';
import { CrossOrigin } from '../../../src/http/server/cors.ts';

/** Options of an app that admits every request, for tests of its routes. */
export const unguarded: Pick<AppOptions, 'authorizer' | 'crossOrigin' | 'isHttpsOnly' | 'callerAddresses'> = {
  authorizer: { admit: () => undefined },
  crossOrigin: new CrossOrigin([], () => new Set()),
  isHttpsOnly: false,
  callerAddresses: new CallerAddresses([]),
};

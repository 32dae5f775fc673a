import { CrossOrigin } from '../../src/http/cross-origin.ts';
import type { DoorOptions } from '../../src/http/door.ts';

/** A door that lets everybody in, for tests of what is behind it. */
export const unguarded: Pick<DoorOptions, 'gate' | 'crossOrigin' | 'isHttpsOnly' | 'trustedProxies'> = {
  gate: { admit: () => undefined },
  crossOrigin: new CrossOrigin([], () => new Set()),
  isHttpsOnly: false,
  trustedProxies: [],
};

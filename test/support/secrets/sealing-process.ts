import { setImmediate as turn } from 'node:timers/promises';
import { KeyFile } from '../../../src/secrets/key-file.ts';
import { sealKeyId } from '../../../src/secrets/seal-format.ts';
import { Sealer } from '../../../src/secrets/sealer.ts';

/**
 * Seals without a break under the keys of a file, until its parent asks for `Sealing`. Times are of `process.hrtime`,
 * which all processes of a machine share.
 */
export interface Sealing {
  /** By master key: when the last seal under it began, in nanoseconds. */
  readonly lastNs: Readonly<Record<string, string>>;
}

const place = { record: 'payment', name: 'pay_1', field: 'token', isEphemeral: true } as const;
const [, , file = ''] = process.argv;
const sealer = new Sealer(new KeyFile(file));
const lastNs: Record<string, string> = {};
let goesOn = true;
process.once('message', () => {
  goesOn = false;
});

for (let seals = 0; goesOn; seals++) {
  for (const seal of [() => sealer.sealWithSharedKey('tok_1', place), () => sealer.seal('secret', place)]) {
    const beganNs = process.hrtime.bigint();
    lastNs[sealKeyId(seal())] = String(beganNs);
  }
  if (seals === 0) process.send?.('sealing');
  await turn();
}
process.send?.({ lastNs } satisfies Sealing);
process.disconnect?.();

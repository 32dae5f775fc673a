import { createSecretKey, type KeyObject } from 'node:crypto';
import { randomBytes } from '../random.ts';
import { encrypt } from './aes-gcm.ts';
import { sharedDataKeyMsMax, sharedDataKeySealsMax } from './limits.ts';
import { type MasterKey, masterKeyBytes } from './master-keys.ts';
import { boundToSharedKey } from './seal-format.ts';

/** A data key for several seals, sealed by a master key once. */
export interface SharedDataKey {
  /** The id of the master key. */
  readonly keyId: string;
  readonly key: KeyObject;
  readonly sealedKey: string;
}

/**
 * The data key of this process for secrets that live seconds. It is replaced after a minute, after a number of seals, and
 * as soon as another master key seals. It is never stored in clear, and no two processes or restarts share one.
 */
export class SharedDataKeys {
  readonly #monotonicMs: () => number;
  #current: SharedDataKey | undefined;
  #madeAtMs = 0;
  #seals = 0;

  /** @param monotonicMs milliseconds of a clock that nobody sets */
  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** The data key for one more seal. @param master the key that seals now */
  take(master: MasterKey): SharedDataKey {
    const nowMs = this.#monotonicMs();
    let current = this.#current;
    if (
      current === undefined ||
      current.keyId !== master.id ||
      this.#seals >= sharedDataKeySealsMax ||
      nowMs - this.#madeAtMs >= sharedDataKeyMsMax
    ) {
      current = newSharedDataKey(master);
      this.#current = current;
      this.#madeAtMs = nowMs;
      this.#seals = 0;
    }
    this.#seals++;
    return current;
  }
}

/** The bytes are erased here; Node.js erases the copy in the KeyObject when it frees it. */
function newSharedDataKey({ id, key: masterKey }: MasterKey): SharedDataKey {
  const bytes = randomBytes(masterKeyBytes);
  const key = createSecretKey(bytes);
  const sealedKey = encrypt(masterKey, bytes, boundToSharedKey(id));
  bytes.fill(0);
  return { keyId: id, key, sealedKey };
}

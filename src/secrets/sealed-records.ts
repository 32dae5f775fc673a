import type { Engine, Space } from '../storage/engine.ts';
import { pagesOf } from '../storage/item-text.ts';
import type { EncryptionContext } from './encryption-context.ts';
import { keyIdOf } from './seal-format.ts';
import type { Sealer } from './sealer.ts';

/** Returns the replacement for a seal at a place. */
export type SealExchange = (seal: string, place: EncryptionContext) => string;

/** Records that hold secrets. Each domain with secrets declares where its seals are. */
export interface SealedRecords {
  readonly space: Space;
  /**
   * The text of a record with each of its seals replaced. Nothing else changes, because the domain compares records with
   * their written text, byte for byte.
   */
  exchange(id: string, text: string, exchange: SealExchange): string;
}

export interface SecretsFound {
  readonly secrets: number;
  /** Number of secrets by the id of their master key. */
  readonly underKeys: ReadonlyMap<string, number>;
  /** One sentence for each secret that does not open; it names the record and nothing secret. */
  readonly problems: readonly string[];
}

/** Opens every secret of the store, and stores none of them. */
export async function openAll(
  engine: Engine,
  sealer: Sealer,
  records: readonly SealedRecords[],
): Promise<SecretsFound> {
  let secrets = 0;
  const underKeys = new Map<string, number>();
  const problems: string[] = [];
  for (const kind of records) {
    for await (const page of pagesOf(engine, kind.space)) {
      for (const { id, name: text } of page) {
        lookAt(kind, id, text, problems, (seal, place) => {
          secrets++;
          const keyId = keyIdOf(seal);
          underKeys.set(keyId, (underKeys.get(keyId) ?? 0) + 1);
          sealer.open(seal, place);
        });
      }
    }
  }
  return { secrets, underKeys, problems };
}

/** Calls `look` for each seal of a record, and reports what it throws as a problem. */
export function lookAt(
  { space, exchange }: SealedRecords,
  id: string,
  text: string,
  problems: string[],
  look: (seal: string, place: EncryptionContext) => void,
): void {
  try {
    exchange(id, text, (seal, place) => {
      try {
        look(seal, place);
      } catch (error) {
        problems.push(`${place.record} ${place.name}, ${place.field}: ${reasonOf(error)}`);
      }
      return seal;
    });
  } catch {
    problems.push(`${space} ${id}: is not a record of this service`);
  }
}

function reasonOf(error: unknown): string {
  const { details } = error as { details?: { detail?: string } };
  return details?.detail ?? (error as Error).name;
}

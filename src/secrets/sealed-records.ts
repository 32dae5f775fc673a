import type { Engine, Space } from '../storage/engine.ts';
import { pagesOf } from '../storage/item-text.ts';
import { keyIdOf, type Sealer, type SecretPlace } from './sealer.ts';

/** What becomes of a seal that lies at a place. */
export type SealExchange = (seal: string, place: SecretPlace) => string;

/** Records of a domain that hold secrets: each domain that seals tells where its seals lie. */
export interface SealedRecords {
  readonly space: Space;
  /**
   * The text of a record with each of its seals exchanged, and nothing else changed: the domain compares records with
   * what it has written, byte for byte.
   */
  exchange(id: string, text: string, exchange: SealExchange): string;
}

export interface SecretsFound {
  readonly secrets: number;
  /** By the id of the master key that they are under. */
  readonly underKeys: ReadonlyMap<string, number>;
  /** Those that do not open, a sentence each that names the record and nothing secret. */
  readonly problems: readonly string[];
}

/** Opens every secret of the store, and keeps none. */
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

/** Looks at each seal of a record; a look that throws is told as a problem. */
export function lookAt(
  { space, exchange }: SealedRecords,
  id: string,
  text: string,
  problems: string[],
  look: (seal: string, place: SecretPlace) => void,
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
    problems.push(`${space} ${id}: is no record of this service`);
  }
}

function reasonOf(error: unknown): string {
  const { details } = error as { details?: { detail?: string } };
  return details?.detail ?? (error as Error).name;
}

import { statfsSync } from 'node:fs';
import { type Family, GaugeFamily } from './families.ts';

/** The disk under the embedded store; a disk that cannot be looked at is not told. */
export function diskMetrics(folder: string): readonly Family[] {
  const gauge = (name: string, help: string, blocks: 'bavail' | 'blocks') =>
    new GaugeFamily({ name, help, aggregator: 'min' }, () => {
      try {
        const facts = statfsSync(folder);
        return facts[blocks] * facts.bsize;
      } catch {
        return undefined;
      }
    });
  return [
    gauge('counterfoil_disk_free_bytes', 'Free on the disk of the store, for this user', 'bavail'),
    gauge('counterfoil_disk_size_bytes', 'Size of the disk of the store', 'blocks'),
  ];
}

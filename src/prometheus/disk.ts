import { statfsSync } from 'node:fs';
import { type Family, GaugeFamily } from './families.ts';

/** Metrics of the embedded store's disk; a disk that cannot be read is left out. */
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
    gauge('counterfoil_disk_free_bytes', 'Free bytes on the disk of the store, for this user', 'bavail'),
    gauge('counterfoil_disk_size_bytes', 'Size of the disk of the store', 'blocks'),
  ];
}

import { UsageError } from '../problems.ts';

export type Format = 'csv' | 'jsonl';

export interface FileFormat {
  readonly format: Format;
  readonly isCompressed: boolean;
}

/** Reads the format from the name of a file; `-` is not compressed. Throws UsageError. */
export function formatOf(file: string, given: Format | undefined): FileFormat {
  const [, name = '', compressed] = /^(.*?)(\.gz)?$/s.exec(file) ?? [];
  const format =
    given ?? (name.endsWith('.csv') ? 'csv' : /\.(jsonl|ndjson)$/.test(name) ? 'jsonl' : undefined);
  if (format === undefined) throw new UsageError(`${file}: name its format: --format csv or --format jsonl`);
  return { format, isCompressed: compressed !== undefined };
}

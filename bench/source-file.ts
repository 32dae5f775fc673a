import { fileURLToPath } from 'node:url';

/** @param path from the folder of the benchmark */
export function sourceFile(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}

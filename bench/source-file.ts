import { fileURLToPath } from 'node:url';

/** @param path relative to the `bench` folder */
export function sourceFile(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}

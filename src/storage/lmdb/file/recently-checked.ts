import { checkedAgainMs, checkedKeysMax } from '../limits.ts';

/**
 * What a thread has checked, or written, within the last minute: keys or spaces. Checking a leaf takes as long as copying it to a
 * socket, and a page that the system has in memory does not rot: what was read from the disk a moment ago is not checked again.
 */
export class RecentlyChecked {
  readonly #keys = new Set<string | number>();
  #until = 0;

  has(key: string | number): boolean {
    return this.#keys.has(key) && performance.now() < this.#until;
  }

  add(key: string | number): void {
    const now = performance.now();
    if (now >= this.#until || this.#keys.size >= checkedKeysMax) {
      this.#keys.clear();
      this.#until = now + checkedAgainMs;
    }
    this.#keys.add(key);
  }
}

/** A count for each address with a count above 0. */
export class AddressCounts {
  readonly #counts = new Map<string, number>();

  of(address: string): number {
    return this.#counts.get(address) ?? 0;
  }

  /** @returns the new count */
  add(address: string, count = 1): number {
    const sum = this.of(address) + count;
    this.#counts.set(address, sum);
    return sum;
  }

  remove(address: string, count = 1): void {
    const left = this.of(address) - count;
    if (left <= 0) this.#counts.delete(address);
    else this.#counts.set(address, left);
  }
}

import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The data of a scripted Stripe, on named shelves. With a folder, each change is also a line in a file, so that after a
 * kill and a restart it still has everything that it confirmed.
 */
export class Journal {
  readonly #path: string | undefined;
  readonly #shelves = new Map<string, Map<string, unknown>>();
  #unwritten = '';

  constructor(folder: string | undefined) {
    if (folder === undefined) return;
    mkdirSync(folder, { recursive: true });
    this.#path = join(folder, 'stripe.journal');
    if (existsSync(this.#path)) this.#read(this.#path);
  }

  shelf<Item>(name: string): Shelf<Item> {
    const items = this.#items(name) as Map<string, Item>;
    return new Shelf(items, (id, item) => {
      if (this.#path !== undefined) this.#unwritten += `${JSON.stringify([name, id, item ?? null])}\n`;
    });
  }

  /** Writes all changes at once: after a kill there are both the charge and its key, or neither. */
  write(): void {
    if (this.#path === undefined || this.#unwritten === '') return;
    appendFileSync(this.#path, this.#unwritten);
    this.#unwritten = '';
  }

  #items(name: string): Map<string, unknown> {
    const items = this.#shelves.get(name) ?? new Map<string, unknown>();
    this.#shelves.set(name, items);
    return items;
  }

  #read(path: string): void {
    const text = readFileSync(path, 'utf8');
    // A kill may truncate the last line, whose reply was not sent.
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    if (whole !== text) writeFileSync(path, whole);
    for (const line of whole.split('\n').slice(0, -1)) {
      const [name, id, item] = JSON.parse(line) as [string, string, unknown];
      if (item === null) this.#items(name).delete(id);
      else this.#items(name).set(id, item);
    }
  }
}

export class Shelf<Item> {
  readonly #items: Map<string, Item>;
  readonly #note: (id: string, item: Item | undefined) => void;

  constructor(items: Map<string, Item>, note: (id: string, item: Item | undefined) => void) {
    this.#items = items;
    this.#note = note;
  }

  get(id: string): Item | undefined {
    return this.#items.get(id);
  }

  put(id: string, item: Item): void {
    this.#items.set(id, item);
    this.#note(id, item);
  }

  remove(id: string): void {
    this.#items.delete(id);
    this.#note(id, undefined);
  }

  entries(): readonly (readonly [string, Item])[] {
    return [...this.#items];
  }

  values(): readonly Item[] {
    return [...this.#items.values()];
  }
}

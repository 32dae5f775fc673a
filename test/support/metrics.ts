import assert from 'node:assert/strict';
import type { TestService } from './service.ts';

export type Labels = Readonly<Record<string, string>>;

/** The response of `/metrics` at one time. */
export class Scraped {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  static async from(service: Pick<TestService, 'get'>): Promise<Scraped> {
    const { status, text } = await service.get('/metrics');
    assert.equal(status, 200, text);
    return new Scraped(text);
  }

  /** The sum of all samples with these labels; 0 if there is none. */
  sum(name: string, labels: Labels = {}): number {
    const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
    return this.#lines(name)
      .filter(({ labelText }) => wanted.every((label) => labelText.includes(label)))
      .reduce((sum, { value }) => sum + value, 0);
  }

  /** Every value of a label in any metric. */
  valuesOf(label: string): Set<string> {
    return new Set(
      Array.from(this.text.matchAll(new RegExp(`[{,]${label}="([^"]*)"`, 'g')), ([, value]) => String(value)),
    );
  }

  /** The names of the described metrics, and the three series of each histogram. */
  names(): Set<string> {
    const names = new Set<string>();
    for (const [, name = '', type] of this.text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
      names.add(name);
      if (type === 'histogram') for (const part of ['bucket', 'sum', 'count']) names.add(`${name}_${part}`);
    }
    return names;
  }

  #lines(name: string): { readonly labelText: string; readonly value: number }[] {
    const pattern = new RegExp(`^${name}(\\{.*\\})? (\\S+)$`, 'gm');
    return Array.from(this.text.matchAll(pattern), ([, labelText = '', value]) => ({
      labelText,
      value: Number(value),
    }));
  }
}

/** Reads how much each counter grew during `work`. */
export async function countedDuring(
  service: Pick<TestService, 'get'>,
  work: () => Promise<unknown>,
): Promise<(name: string, labels?: Labels) => number> {
  const before = await Scraped.from(service);
  await work();
  const after = await Scraped.from(service);
  return (name, labels) => after.sum(name, labels) - before.sum(name, labels);
}

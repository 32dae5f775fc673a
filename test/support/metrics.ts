import assert from 'node:assert/strict';
import type { TestService } from './service.ts';

export type Labels = Readonly<Record<string, string>>;

/** What `/metrics` said at one moment. */
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

  /** The sum of all that bear these labels; 0 where there is none. */
  sum(name: string, labels: Labels = {}): number {
    const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
    return this.#lines(name)
      .filter(({ labelText }) => wanted.every((label) => labelText.includes(label)))
      .reduce((sum, { value }) => sum + value, 0);
  }

  /** Every value that a label has anywhere. */
  valuesOf(label: string): Set<string> {
    return new Set(
      Array.from(this.text.matchAll(new RegExp(`[{,]${label}="([^"]*)"`, 'g')), ([, value]) => String(value)),
    );
  }

  /** Those that are described, and the three that a histogram consists of. */
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

/** What was counted meanwhile. */
export async function countedDuring(
  service: Pick<TestService, 'get'>,
  work: () => Promise<unknown>,
): Promise<(name: string, labels?: Labels) => number> {
  const before = await Scraped.from(service);
  await work();
  const after = await Scraped.from(service);
  return (name, labels) => after.sum(name, labels) - before.sum(name, labels);
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holdsCardNumber } from '../../src/payments/card-number.ts';

/** What is repeated: each holds no card number, and invites work that is done over and over. */
const repeated: Readonly<Record<string, string>> = {
  'one digit and a space': '1 ',
  'one digit of Visa and a hyphen': '4-',
  'one long run of digits': '4',
  'the start of a number, without an end': '411111111111',
  'numbers of fours with a wrong check digit': '4111 1111 1111 1112 ',
  'numbers with a wrong check digit and hyphens': '4111-1111-1111-1112-',
  'ungrouped numbers with a wrong check digit': '4111111111111112 ',
  'the start of a UUID': '0a1b2c3d-',
  'most of a UUID': '0a1b2c3d-4e5f-4a6b-8c7d-0e1f2a3b4c5',
  'whole UUIDs': '0a1b2c3d-4e5f-4a6b-8c7d-0e1f2a3b4c5d ',
  'hyphens alone': '-',
  'spaces alone': ' ',
  'letters alone': 'a',
};

const kibibyte = 1024;
/** Each size is measured against the one before it, so that slow code fails before it takes minutes. */
const sizes = [kibibyte / 4, 2 * kibibyte, 25 * kibibyte, 1024 * kibibyte];
const runs = 7;
/** Short texts are read several times in a run, so that it is long enough to measure. */
const charactersPerRunMin = 64 * kibibyte;
/** Slow code gets fewer runs: it fails by far more than the noise of one. */
const measuringMillisecondsMax = 1_000;

for (const digitRuns of ['any', 'grouped'] as const) {
  for (const [what, part] of Object.entries(repeated)) {
    test(`takes time in proportion to the text: ${what}, ${digitRuns}`, (t) => {
      let before: { readonly size: number; readonly each: number } | undefined;
      for (const size of sizes) {
        const text = part.repeat(Math.floor(size / part.length));
        assert.equal(holdsCardNumber(text, { digitRuns }), false);
        const each = nanosecondsPerCharacter(text, digitRuns);
        t.diagnostic(`${size / kibibyte} KiB: ${each.toFixed(1)} ns per character`);
        if (before !== undefined) {
          // A character takes equally long in linear code, and `growth` times as long in quadratic code.
          const growth = size / before.size;
          const slowdown = each / before.each;
          assert.ok(slowdown <= Math.sqrt(growth), `${slowdown.toFixed(1)} times as long at ${size} bytes`);
        }
        before = { size, each };
      }
    });
  }
}

/** The best of several runs: a busy machine makes some of them slow, and none fast. */
function nanosecondsPerCharacter(text: string, digitRuns: 'any' | 'grouped'): number {
  const timesMax = Math.ceil(charactersPerRunMin / text.length);
  const end = performance.now() + measuringMillisecondsMax;
  let best = Number.POSITIVE_INFINITY;
  for (let run = 0; run < runs && (run === 0 || performance.now() < end); run++) {
    const start = performance.now();
    let times = 0;
    do {
      holdsCardNumber(text, { digitRuns });
      times++;
    } while (times < timesMax && performance.now() < end);
    best = Math.min(best, (performance.now() - start) / (times * text.length));
  }
  return best * 1_000_000;
}

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { count, isLong } from '../support/extent.ts';
import { runDrill, type Trouble } from '../support/payments/fault-drill.ts';
import type { Finding } from '../support/payments/fault-findings.ts';
import {
  type FaultWord,
  lostMethodWords,
  pairWords,
  plainWords,
  refundWords,
} from '../support/payments/fault-words.ts';
import { pick, randomFrom, seedOf } from '../support/random.ts';

const drills = count({ short: 1, long: 20 });
const keysPerDrill = count({ short: 100, long: 1_000 });
/** A busy machine may need all of it; an idle one needs seconds. */
const settleMsMax = 120_000;

/** Pairs are picked twice as often: they are easily overlooked. */
const allWords = inTime([...plainWords, ...refundWords, ...pairWords, ...pairWords]);

/** A reply that never comes takes half a minute, which a short run does not have. */
function inTime(words: readonly FaultWord[]): readonly FaultWord[] {
  return words.filter(({ isHeld }) => isLong || !isHeld);
}

describe('a lost reply that is followed by a rejection', { concurrency: isLong ? 4 : 3 }, () => {
  for (let number = 1; number <= drills; number++) {
    const which = drills === 1 ? '' : ` (drill ${number} of ${drills})`;
    test(`charges each key once and refunds it once, and every response is true${which}`, async (t) => {
      const seed = seedOf(t);
      const options = { keys: keysPerDrill, words: allWords, singleUse: 'some' } as const;
      const findings = await runDrill(t, { seed, ...options, troubles: troublesOf(seed), settleMsMax });
      assertNothingFound(t, findings);
    });
  }

  test('uses up no single-use token when the reply to the creation of its payment method is lost', async (t) => {
    const seed = seedOf(t);
    const options = { keys: count({ short: 30, long: 300 }), words: inTime(lostMethodWords) };
    const findings = await runDrill(t, {
      seed,
      ...options,
      singleUse: 'all',
      troubles: ['storm'],
      settleMsMax,
    });
    const usedUp = findings.filter(({ kind }) => kind === 'token used up');
    t.diagnostic(`${usedUp.length} of ${options.keys} keys were used up`);
    assertNothingFound(t, findings);
  });

  test('the drill finds the double charges of a service whose HTTP client retries by itself', async (t) => {
    const seed = seedOf(t);
    const hook = join(import.meta.dirname, '../support/payments/resend.ts');
    const env = { NODE_OPTIONS: `--import ${hook}` };
    const words = pairWords.filter(({ word }) => /reset_after.*(429|401|403)$/.test(word));
    const options = { keys: 40, words, singleUse: 'some', troubles: [], isPatient: true } as const;
    const findings = await runDrill(t, { seed, ...options, settleMsMax, env });
    const kinds = new Set(findings.map(({ kind }) => kind));
    assert.ok(kinds.has('charged twice'), `found: ${[...kinds]}`);
  });
});

/** Every run has a storm and one other trouble; a long run has all troubles, in any order. */
function troublesOf(seed: number): Trouble[] {
  const random = randomFrom(seed + 1);
  const more = Array.from({ length: isLong ? 8 : 0 }, () =>
    pick(random, ['storm', 'pause', 'kill'] as const),
  );
  return ['storm', pick(random, ['pause', 'kill'] as const), ...more];
}

function assertNothingFound(t: TestContext, findings: readonly Finding[]): void {
  const byKind = Map.groupBy(findings, ({ kind }) => kind);
  for (const [kind, found] of byKind) t.diagnostic(`${kind}: ${found.length}`);
  assert.deepEqual(
    findings.map(({ kind, what }) => `${kind}: ${what}`),
    [],
  );
}

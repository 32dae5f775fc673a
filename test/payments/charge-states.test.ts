import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type ChargeState, hasEnded, isFinal, transitionCharge } from '../../src/payments/charge-state.ts';

/** received → calling → succeeded | declined | requires_action → … | in_doubt → …; proof settles a review. */
const legal: Readonly<Record<ChargeState, readonly ChargeState[]>> = {
  received: ['calling'],
  calling: ['succeeded', 'declined', 'requires_action', 'in_doubt'],
  requires_action: ['requires_action', 'succeeded', 'declined', 'needs_review'],
  in_doubt: ['in_doubt', 'requires_action', 'succeeded', 'declined', 'needs_review'],
  succeeded: [],
  declined: [],
  needs_review: ['succeeded', 'declined'],
};
const states = Object.keys(legal) as ChargeState[];

for (const from of states) {
  for (const to of states) {
    const may = legal[from].includes(to);
    test(`a charge ${may ? 'may' : 'cannot'} go from ${from} to ${to}`, () => {
      if (may) assert.equal(transitionCharge(from, to), to);
      else
        assert.throws(
          () => transitionCharge(from, to),
          new RangeError(`a charge cannot go from ${from} to ${to}`),
        );
    });
  }
}

test('a charge has ended when it succeeded, was declined or needs review', () => {
  assert.deepEqual(states.filter(hasEnded), ['succeeded', 'declined', 'needs_review']);
});

test('the outcome of a charge is final when it succeeded or was declined', () => {
  assert.deepEqual(states.filter(isFinal), ['succeeded', 'declined']);
});

test('no sequence of transitions, legal or not, leaves a final state', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...states), { maxLength: 20 }), (attempts) => {
      let state: ChargeState = 'received';
      let known: ChargeState | undefined;
      for (const attempt of attempts) {
        try {
          state = transitionCharge(state, attempt);
        } catch (error) {
          assert.ok(error instanceof RangeError);
        }
        if (isFinal(state)) known ??= state;
        assert.equal(state, known ?? state);
      }
    }),
    { numRuns: 2_000 },
  );
});

test('no sequence of transitions returns to a state before the call of the processor', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...states), { maxLength: 20 }), (attempts) => {
      const walked: ChargeState[] = ['received'];
      for (const attempt of attempts) {
        const here = walked.at(-1) as ChargeState;
        if (legal[here].includes(attempt)) walked.push(transitionCharge(here, attempt));
      }
      assert.ok(!walked.slice(1).includes('received'));
      assert.ok(!walked.slice(2).includes('calling'));
    }),
  );
});

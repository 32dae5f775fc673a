import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryLedger } from '../../src/processors/simulated/memory-ledger.ts';
import { runCommand } from '../support/command.ts';
import { startLedger } from '../support/ledger/ledger-process.ts';
import { startTestService } from '../support/service.ts';

for (const [args, message] of [
  [['lost'], /^counterfoil: unknown command 'lost'/],
  [['lst'], /Did you mean list\?/],
  [['show'], /missing required argument 'payment'/],
  [['show', 'a', 'b'], /too many arguments/],
  [['list', '--limit', '0'], /--limit: must be a whole number/],
  [['list', '--since', 'soon'], /--since: must be a date/],
  [['list', '--nonsense'], /nonsense/],
  [['refund', 'pay_1', '--amount', 'x'], /There is no payment|--amount/],
  [['reconcile', 'paypal'], /Allowed choices are stripe, square, simulated/],
  [['resolve', 'pay_1'], /either --succeeded <charge> or --declined/],
  [['resolve', 'pay_1', '--declined', '--succeeded', 'ch_1'], /either --succeeded <charge> or --declined/],
  [['reconcile', 'stripe'], /no key in the settings/],
  [['reconcile', 'simulated', '--from', '2026-03-02', '--until', '2026-03-01'], /--from: must be before/],
] as const) {
  test(`payments ${args.join(' ')}: reports what is wrong, and exits with status 2`, async (t) => {
    const { origin } = await startLedger(t, new MemoryLedger());
    const env = { COUNTERFOIL_SIMULATED_LEDGER: origin };
    const { data } = await startTestService(t, { env });
    const ended = await runCommand(['payments', ...args], { COUNTERFOIL_DATA: data, ...env });
    assert.equal(ended.status, 2);
    assert.match(ended.errors, message);
    assert.doesNotMatch(ended.errors, /\n\s+at /, 'no stack');
  });
}

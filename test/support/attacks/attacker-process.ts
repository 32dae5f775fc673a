import { type AttackName, type AttackRequest, attackAddresses } from './attack-request.ts';
import { attackFunctions } from './attackers.ts';

/**
 * A process of attackers, so that honest callers do not wait for them. A message that is an order begins attacks, which it
 * confirms; the next one ends them, and then it reports what they were sent.
 */
let end: (() => void) | undefined;

process.on('message', (order: AttackRequest | 'end') => {
  if (order === 'end') end?.();
  else void carryOut(order);
});
process.once('disconnect', () => process.exit());

async function carryOut(order: AttackRequest): Promise<void> {
  const over = new AbortController();
  end = () => over.abort();
  const counts: Record<string, number> = {};
  const running = (order.attacks as readonly AttackName[]).map((name) =>
    attackFunctions[name]({
      ...order,
      address: attackAddresses[name],
      signal: over.signal,
      note: (status) => {
        const key = `${name}: ${status}`;
        counts[key] = (counts[key] ?? 0) + 1;
      },
    }),
  );
  process.send?.('begun');
  await Promise.all(running);
  process.send?.(counts);
}

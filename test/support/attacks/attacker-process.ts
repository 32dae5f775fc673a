import { type AttackName, type AttackRequest, attackAddresses } from './attack-request.ts';
import { attackFunctions } from './attackers.ts';

/**
 * A process of attackers, so that honest callers do not share an event loop with them. An `AttackRequest` begins
 * attacks, and the process confirms that. `end` ends them, and then the process reports the responses.
 */
let end: (() => void) | undefined;

process.on('message', (request: AttackRequest | 'end') => {
  if (request === 'end') end?.();
  else void execute(request);
});
process.once('disconnect', () => process.exit());

async function execute(request: AttackRequest): Promise<void> {
  const over = new AbortController();
  end = () => over.abort();
  const counts: Record<string, number> = {};
  const running = (request.attacks as readonly AttackName[]).map((name) =>
    attackFunctions[name]({
      ...request,
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

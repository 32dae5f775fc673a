import type { StripeLedger } from './ledger.ts';
import { failed, keyInUse, type Reply } from './replies.ts';
import type { StripeRequest } from './request.ts';

/** Stripe promises to remember a key for this long at least; this one forgets it then. */
export const keyLifeMs = 24 * 60 * 60 * 1_000;

/**
 * Executes a request once for each idempotency key and replays its reply, failures included, as
 * https://docs.stripe.com/api/idempotent_requests describes. Rejections before processing are not stored.
 */
export async function onceByKey(
  ledger: StripeLedger,
  { method, path, headers, fields }: StripeRequest,
  execute: () => Promise<Reply>,
): Promise<{ readonly reply: Reply; readonly isReplayed: boolean }> {
  const key = headers['idempotency-key'];
  if (typeof key !== 'string' || method !== 'POST') return { reply: await execute(), isReplayed: false };
  const asked = JSON.stringify([path, fields]);
  const before = ledger.keys.get(key);
  if (before !== undefined && ledger.now() - before.at < keyLifeMs) {
    if (before.asked !== asked) return { reply: keyMisused(), isReplayed: false };
    if (before.reply === undefined) return { reply: keyInUse(), isReplayed: false };
    return { reply: before.reply, isReplayed: true };
  }
  const at = ledger.now();
  ledger.keys.put(key, { asked, at });
  const reply = await execute();
  if (reply.isUnprocessed) ledger.keys.remove(key);
  else ledger.keys.put(key, { asked, at, reply });
  return { reply, isReplayed: false };
}

function keyMisused(): Reply {
  const message =
    'Keys for idempotent requests can only be used with the parameters they were first used with.';
  return failed(400, 'idempotency_error', { message });
}

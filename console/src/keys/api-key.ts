import type { ApiKey, Operator, Scope } from '@counterfoil/client/operator';
import type { Session } from '../service.ts';
import { texts } from '../texts.ts';

/** All keys, in the order of their creation. */
export async function readKeys({ keys }: Operator, signal: AbortSignal): Promise<readonly ApiKey[]> {
  const all: ApiKey[] = [];
  let after: string | undefined;
  do {
    const page = await keys.list({ signal, after });
    all.push(...page.keys);
    after = page.next;
  } while (after !== undefined);
  return all;
}

/** What a key may do, as sentences. */
export function sentencesOf({ scopes, tables, routes, origins }: ApiKey): readonly string[] {
  const sentences = scopes.map((scope) => {
    const limits = scope.startsWith('tables:') ? tables : scope.startsWith('payments:') ? routes : null;
    return texts.apiKeys.scopes[scope]?.(limits?.join(', ')) ?? scope;
  });
  return origins === null ? sentences : [...sentences, texts.apiKeys.from(origins.join(', '))];
}

/** The scopes that the key of a session can give to other keys. */
export function scopesToGive({ scopes }: Session): readonly Scope[] {
  const all = Object.keys(texts.apiKeys.scopes) as Scope[];
  return scopes.includes('admin') ? all : all.filter((scope) => scopes.includes(scope));
}

/**
 * Whether the key of a session covers another key. The service decides this; the console only hides what it would
 * reject.
 */
export function covers(session: Session, { scopes, tables, routes }: ApiKey): boolean {
  if (session.scopes.includes('admin')) return true;
  const isWithin = (held: readonly string[] | null, asked: readonly string[] | null, domain: string) =>
    held === null ||
    !scopes.some((scope) => scope.startsWith(domain)) ||
    (asked?.every((each) => held.includes(each)) ?? false);
  return (
    scopes.every((scope) => session.scopes.includes(scope)) &&
    isWithin(session.tables, tables, 'tables:') &&
    isWithin(session.routes, routes, 'payments:')
  );
}

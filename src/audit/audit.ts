import { defined } from '../defined.ts';
import { idsFrom, timeOrderedId } from '../random.ts';
import type { Engine, Write } from '../storage/engine.ts';
import { creation, Records } from '../storage/records.ts';

/** Acts of administrators and users. They are stored for ever. */
export const actKinds = [
  'key.created',
  'key.rotated',
  'key.revoked',
  'integration.registered',
  'integration.replaced',
  'integration.deleted',
  'integration.approved',
  'integration.approval_withdrawn',
  'payment.refunded',
  'payment.canceled',
  'payment.resolved',
  'payments.reconciled',
  'user.signed_in',
  'user.signed_out',
  'user.deleted',
  'sessions.ended',
  'table.dropped',
  'administrator.added',
  'administrator.changed',
  'administrator.removed',
  'console.signed_in',
  'console.signed_out',
  'console.requested',
  'backup.requested',
  'secrets.key_noted',
  'secrets.rotated',
] as const;
export type ActKind = (typeof actKinds)[number];

/**
 * Who acted: a command of the operator, the service itself, a direct caller of a service without keys, a user, a user's
 * identity provider, an API key, or a named administrator in the console (by user id).
 */
export type Actor =
  | 'cli'
  | 'service'
  | 'open'
  | 'user'
  | 'provider'
  | `key:${string}`
  | `administrator:${string}`;

/** A named administrator, as at the time of the act. */
export interface ActingAdministrator {
  readonly issuer: string;
  readonly subject: string;
  readonly name?: string;
}

/** The actor of an audited act, and the id of the request. */
export interface Requester {
  readonly by: Actor;
  /** The administrator of an actor `administrator:ID`. */
  readonly administrator?: ActingAdministrator;
  readonly requestId?: string;
}

export interface AdministrativeAct extends Requester {
  readonly what: ActKind;
  /** The id or name of the object. It must contain no secrets. */
  readonly on: string;
  /** Only for `payment.refunded`: the refund of the payment. Absent in entries of earlier versions. */
  readonly refund?: AuditedRefund;
}

/** The money that a refund returns. */
interface AuditedRefund {
  readonly id: string;
  /** In the smallest unit of the currency. */
  readonly amount: number;
  /** ISO 4217. */
  readonly currency: string;
}

/** An act as stored in `service:audit`; ids sort by time. */
export interface AuditEntry extends AdministrativeAct {
  readonly id: string;
  readonly at: string;
}

/**
 * The write that records an act. Commit it with the act itself, so that neither exists without the other.
 * @param now milliseconds since 1970
 */
export function audited(
  { what, on, by, administrator, requestId, refund }: AdministrativeAct,
  now = Date.now(),
): Write {
  const id = timeOrderedId('act', now);
  const entry: AuditEntry = {
    id,
    at: new Date(now).toISOString(),
    what,
    on,
    by,
    ...defined({ administrator, requestId, refund }),
  };
  return creation('audit', id, entry);
}

/** The acts since a time, oldest first. @param since milliseconds since 1970 */
export async function* auditTrail(engine: Engine, since = 0): AsyncGenerator<AuditEntry> {
  const entries = new Records<AuditEntry>(engine, 'audit');
  for await (const { value } of entries.list({ after: idsFrom('act', since) })) yield value;
}

/** An act as the command line and the HTTP interface show it. */
export function publicAct({ id, at, what, on, by, administrator, requestId, refund }: AuditEntry) {
  return {
    id,
    at,
    what,
    on,
    by,
    ...defined({ administrator, refund }),
    request_id: requestId ?? null,
  };
}

import type { Engine, Write } from '../../storage/engine.ts';
import { creation, Records, type Stored } from '../../storage/records.ts';
import { recoveryDelayMsMax, recoveryDelayMsMin } from '../limits.ts';
import type { Payment } from '../payment.ts';
import type { Heartbeats } from './heartbeat.ts';

/**
 * Marks an open charge or refund; stored under its `openId`. It names the owner. Without an owner, it has the time from
 * which a process may claim it, in milliseconds since 1970, and whether the charge waits for its cardholder. Recovery
 * needs the processor's name, because each processor has a queue.
 */
export type OpenMarker = { readonly processor: string } & (
  | { readonly owner: string }
  | { readonly dueAt: number; readonly waitsFor?: 'cardholder' }
);

interface Owner {
  readonly heartbeats: Heartbeats;
}

interface Clock {
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const space = 'open-payments';
export const openSpace = `service:${space}` as const;

export function openMarkers(engine: Engine): Records<OpenMarker> {
  return new Records(engine, space);
}

/** The id of a charge's marker is the payment's id; a refund's has both ids. */
export function openId(paymentId: string, refundId?: string): string {
  return refundId === undefined ? paymentId : `${paymentId}.${refundId}`;
}

export function parseOpenId(openId: string): { readonly paymentId: string; readonly refundId?: string } {
  const [paymentId = '', refundId] = openId.split('.');
  return refundId === undefined ? { paymentId } : { paymentId, refundId };
}

export function createMarker({ heartbeats }: Owner, id: string, processor: string): Write {
  return creation(space, id, { processor, owner: heartbeats.self } satisfies OpenMarker);
}

/** The engine rejects the write if another process has claimed the marker. */
export function claimMarker(
  { engine, heartbeats }: Owner & { readonly engine: Engine },
  marker: Stored<OpenMarker>,
): Write {
  const { processor } = marker.value;
  return openMarkers(engine).replacement(marker, { processor, owner: heartbeats.self });
}

/** When to retry. */
export interface Pause {
  /** The pause doubles with each attempt. */
  readonly attempts: number;
  readonly msMax?: number;
  /** The latest end of the pause, in milliseconds since 1970, unless this time has passed. */
  readonly deadline?: number;
  /** Whether the charge waits for its cardholder until the deadline. */
  readonly isCardholders?: boolean;
}

/** Sets the next retry after a pause. Jitter spreads the retries of charges that failed together. */
export function postponeMarker(
  { now }: Clock,
  id: string,
  { processor }: Pick<Payment, 'processor'>,
  { attempts, msMax = recoveryDelayMsMax, deadline = 0, isCardholders = false }: Pause,
): Write {
  const at = now();
  const delayMs = Math.min(recoveryDelayMsMin * 2 ** (attempts - 1), msMax);
  const pausedUntil = Math.round(at + delayMs * (0.5 + Math.random() / 2));
  const isAhead = at < deadline;
  const dueAt = isAhead ? Math.min(pausedUntil, deadline) : pausedUntil;
  const marker: OpenMarker =
    isCardholders && isAhead ? { processor, dueAt, waitsFor: 'cardholder' } : { processor, dueAt };
  return { kind: 'replace', space: openSpace, id, value: JSON.stringify(marker) };
}

/** The write that marks a refund again that had ended and is under way once more. */
export function restoreMarker({ now }: Clock, id: string, { processor }: Pick<Payment, 'processor'>): Write {
  return creation(space, id, { processor, dueAt: now() + recoveryDelayMsMin } satisfies OpenMarker);
}

export function removeMarker(id: string): Write {
  return { kind: 'delete', space: openSpace, id };
}

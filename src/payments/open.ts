import { recoveryDelayMsMax, recoveryDelayMsMin } from '../limits.ts';
import type { Write } from '../storage/engine.ts';
import type { PaymentParts } from './parts.ts';

/**
 * Marks what has not ended, under `openId`: who drives it now, or, where nobody does, from when on somebody may
 * (milliseconds since 1970).
 */
export type OpenMarker = { readonly driver: string } | { readonly dueAt: number };

export const openSpace = 'service:open-payments';

/** A charge goes by its payment's id, a refund by both ids. */
export function openId(paymentId: string, refundId?: string): string {
  return refundId === undefined ? paymentId : `${paymentId}.${refundId}`;
}

export function idsOf(openId: string): { readonly paymentId: string; readonly refundId?: string } {
  const [paymentId = '', refundId] = openId.split('.');
  return refundId === undefined ? { paymentId } : { paymentId, refundId };
}

export function opened({ drivers }: PaymentParts, id: string): Write {
  return { kind: 'create', space: openSpace, id, value: text({ driver: drivers.self }), makeSpace: true };
}

/** Refused when somebody else was faster. @param before the marker's text as it was seen */
export function taken({ drivers }: PaymentParts, id: string, before: string): Write {
  return {
    kind: 'replace',
    space: openSpace,
    id,
    value: text({ driver: drivers.self }),
    ifValue: before,
  };
}

/** To be taken up again after a pause, which grows with the attempts. */
export function waiting({ now }: PaymentParts, id: string, attempts: number): Write {
  const delayMs = Math.min(recoveryDelayMsMin * 2 ** (attempts - 1), recoveryDelayMsMax);
  return { kind: 'replace', space: openSpace, id, value: text({ dueAt: now() + delayMs }) };
}

export function closed(id: string): Write {
  return { kind: 'delete', space: openSpace, id };
}

function text(marker: OpenMarker): string {
  return JSON.stringify(marker);
}

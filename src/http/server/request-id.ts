import { randomBytes } from 'node:crypto';

const processPart = randomBytes(6).toString('hex');
let count = 0;

/** A request id that is unique among all processes. It is in the response and in the log. */
export function newRequestId(): string {
  count++;
  return `req_${processPart}${count.toString(36).padStart(6, '0')}`;
}

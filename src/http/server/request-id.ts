import { randomBytes } from 'node:crypto';

const processPart = randomBytes(6).toString('hex');
let count = 0;

/** Unlike any other request's, of this process and of others; it stands in the answer and in the log. */
export function newRequestId(): string {
  count++;
  return `req_${processPart}${count.toString(36).padStart(6, '0')}`;
}

import { ServiceError } from '../../errors.ts';
import { type DigitRuns, holdsCardNumber } from '../card-number.ts';

/** Throws `invalid_request` if a text of a request holds what looks like a card number. */
export function rejectCardNumber(param: string, text: string, digitRuns: DigitRuns): void {
  if (!holdsCardNumber(text, digitRuns)) return;
  throw new ServiceError('invalid_request', {
    param,
    message:
      `${param} looks like a card number. Never send card numbers here: let the processor turn the card into a token ` +
      'in the browser. If it is another number, join it to a word: "order-…".',
  });
}

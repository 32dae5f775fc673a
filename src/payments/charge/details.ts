import { defined } from '../../defined.ts';
import { invalidRequest } from '../../errors.ts';
import type { ChargeDetails } from '../../processors/processor.ts';
import type { Sealer } from '../../secrets/sealer.ts';
import { rejectCardNumber } from '../card-number.ts';
import {
  descriptionCharactersMax,
  emailDomainCharactersMax,
  emailLocalPartCharactersMax,
  statementDescriptorSuffixCharactersMax,
} from '../limits.ts';
import { type Payment, type PaymentDetails, receiptEmailDigest, receiptEmailPlace } from '../payment.ts';

/** The optional fields of a charge request that only the processor uses. */
export interface RequestedDetails {
  readonly description?: string | undefined;
  readonly statementDescriptorSuffix?: string | undefined;
  readonly receiptEmail?: string | undefined;
}

/** Throws `invalid_request` with the field's name. No message repeats a value that was sent. */
export function checkDetails(details: RequestedDetails): RequestedDetails {
  const { description, statementDescriptorSuffix, receiptEmail } = details;
  if (description !== undefined) checkDescription(description);
  if (statementDescriptorSuffix !== undefined) checkSuffix(statementDescriptorSuffix);
  if (receiptEmail !== undefined) checkEmail(receiptEmail);
  return { description, statementDescriptorSuffix, receiptEmail };
}

function checkDescription(text: string): void {
  const isPrintable = text.isWellFormed() && !/\p{Cc}/u.test(text);
  if (text === '' || text.length > descriptionCharactersMax || !isPrintable) {
    throw invalidRequest(
      'description',
      `description must be 1 to ${descriptionCharactersMax} characters, without control characters.`,
    );
  }
  rejectCardNumber('description', text, 'alone');
}

/** Stripe's rules (https://docs.stripe.com/get-started/account/statement-descriptors#requirements). */
function checkSuffix(text: string): void {
  const isAllowed = /^[\x20-\x7e]+$/.test(text) && /[A-Za-z]/.test(text) && !/[<>\\'"*]/.test(text);
  if (!isAllowed || text.length > statementDescriptorSuffixCharactersMax) {
    throw invalidRequest(
      'statement_descriptor_suffix',
      `statement_descriptor_suffix must be 1 to ${statementDescriptorSuffixCharactersMax} printable ASCII characters ` +
        'with at least one letter, and without < > \\ \' " *.',
    );
  }
  rejectCardNumber('statement_descriptor_suffix', text, 'any');
}

/** Checks the form only. Whether the mailbox exists turns out when the processor sends to it. */
function checkEmail(text: string): void {
  const [localPart = '', domain = '', ...rest] = text.split('@');
  const isAddress =
    rest.length === 0 &&
    /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+$/.test(localPart) &&
    localPart.length <= emailLocalPartCharactersMax &&
    /^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$/.test(domain) &&
    domain.length <= emailDomainCharactersMax;
  if (!isAddress)
    throw invalidRequest(
      'receipt_email',
      'receipt_email must be an email address in ASCII: name@example.org.',
    );
  rejectCardNumber('receipt_email', text, 'any');
}

/** What the record stores of the details; undefined if the request has none of them and no metadata. */
export function storedDetails(
  { sealer }: { readonly sealer: Sealer },
  paymentId: string,
  { description, statementDescriptorSuffix, receiptEmail }: RequestedDetails,
): PaymentDetails | undefined {
  if ((description ?? statementDescriptorSuffix ?? receiptEmail) === undefined) return undefined;
  return {
    ...defined({ description, statementDescriptorSuffix }),
    ...(receiptEmail === undefined
      ? {}
      : {
          receiptEmailDigest: receiptEmailDigest(paymentId, receiptEmail),
          sealedReceiptEmail: sealer.sealWithSharedKey(receiptEmail, receiptEmailPlace(paymentId)),
        }),
  };
}

/**
 * The details for the processor. They are the same for every attempt, because Stripe rejects a repeated key with other
 * parameters.
 */
export function sentDetails(
  { sealer }: { readonly sealer: Pick<Sealer, 'open'> },
  { id, details = {}, metadata }: Payment,
): ChargeDetails {
  const { description, statementDescriptorSuffix, sealedReceiptEmail } = details;
  return {
    ...defined({ metadata, description, statementDescriptorSuffix }),
    ...(sealedReceiptEmail === undefined
      ? {}
      : { receiptEmail: sealer.open(sealedReceiptEmail, receiptEmailPlace(id)) }),
  };
}

/** Erases the email address of an ended payment. Its digest stays, to recognize a repeated request. */
export function withoutReceiptEmail(payment: Payment): Payment {
  if (payment.details?.sealedReceiptEmail === undefined) return payment;
  const { sealedReceiptEmail: _erased, ...details } = payment.details;
  return { ...payment, details };
}

/** The field in which a repeated request differs from the first, or undefined. */
export function differingDetail({ id, details = {} }: Payment, request: RequestedDetails) {
  if (details.description !== request.description) return 'description';
  if (details.statementDescriptorSuffix !== request.statementDescriptorSuffix)
    return 'statement_descriptor_suffix';
  const { receiptEmail: email } = request;
  const digest = email === undefined ? undefined : receiptEmailDigest(id, email);
  return details.receiptEmailDigest === digest ? undefined : 'receipt_email';
}

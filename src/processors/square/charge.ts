import { defined } from '../../defined.ts';
import type { ChargeOutcome, ChargeRequest } from '../processor.ts';
import type { Succeeded } from '../reports.ts';
import { declined, outcomeInTime, rejectedCharge } from '../sending/outcomes.ts';
import {
  asObject,
  asObjects,
  asText,
  type Json,
  locationQuery,
  type SquareAccount,
  squareMoney,
} from './api.ts';
import { type Fault, isDefiniteRejection, readFault, wasTurnedAway } from './errors.ts';

/**
 * Charges in one call (https://developer.squareup.com/reference/square/payments-api/create-payment). Our payment id has
 * 36 characters of the 40 allowed in a reference, our key 43 of 45.
 */
export function charge(account: SquareAccount, request: ChargeRequest): Promise<ChargeOutcome> {
  const { paymentId, processorKey, amount, currency, token, timeoutMs, isRecovery } = request;
  const body = {
    source_id: token,
    idempotency_key: processorKey,
    amount_money: squareMoney(amount, currency),
    autocomplete: true,
    // Otherwise a gift card with a low balance would pay a part.
    accept_partial_authorization: false,
    reference_id: paymentId,
    ...chargeDetails(request),
    ...locationQuery(account),
  };
  const { statementDescriptorSuffix: suffix = '' } = request;
  if (suffix.length > statementIdentifierCharactersMax) return Promise.resolve(suffixTooLong);
  const charged = account.sends.only(processorKey, () =>
    account.api
      .post('/v2/payments', body, { timeoutMs, isRecovery })
      .then((reply) => paymentOutcome(asObject(reply.payment)), failureOutcome),
  );
  return outcomeInTime(charged, timeoutMs);
}

/** Square's limit (https://developer.squareup.com/reference/square/payments-api/create-payment). */
const statementIdentifierCharactersMax = 20;

/** Square has no field for metadata. */
function chargeDetails({ description, statementDescriptorSuffix, receiptEmail }: ChargeRequest): Json {
  return defined({
    note: description,
    statement_description_identifier: statementDescriptorSuffix,
    buyer_email_address: receiptEmail,
  });
}

const suffixTooLong: ChargeOutcome = {
  kind: 'rejected',
  param: 'statement_descriptor_suffix',
  message: `Square takes a statement_descriptor_suffix of at most ${statementIdentifierCharactersMax} characters; nothing was charged.`,
  detail: 'the statement descriptor suffix is too long for Square',
};

/**
 * The outcome of a payment, by its status (https://developer.squareup.com/reference/square/objects/Payment). An APPROVED
 * or PENDING payment is undecided.
 */
export function paymentOutcome(payment: Json): ChargeOutcome {
  const [status, chargeId] = [asText(payment.status), asText(payment.id)];
  if (status === 'COMPLETED' && chargeId !== undefined)
    return { kind: 'succeeded', chargeId, ...takenMoney(payment) };
  if (status === 'FAILED' || status === 'CANCELED') {
    const failures = asObjects(asObject(payment.card_details).errors).map(({ code }) => asText(code));
    return declined(declineCode(failures.filter((code) => code !== undefined)));
  }
  const known = ['APPROVED', 'PENDING'].find((each) => each === status) ?? 'in no known status';
  return { kind: 'unknown', detail: `the payment is ${known}` };
}

/** The charged and refundable amount: it includes the tip if another system took one. */
export function totalMoney({ total_money, amount_money }: Json): Json {
  return asObject(total_money ?? amount_money);
}

function takenMoney(payment: Json): Pick<Succeeded, 'taken'> {
  const { amount, currency } = totalMoney(payment);
  return typeof amount === 'number' && typeof currency === 'string' ? { taken: { amount, currency } } : {};
}

function failureOutcome(error: unknown): ChargeOutcome {
  const fault = readFault(error);
  const { status, codes, categories, detail } = fault;
  if (wasTurnedAway(fault)) return { kind: 'not_attempted', detail };
  if (!isDefiniteRejection(fault)) return { kind: 'unknown', detail };
  const parameter = parameterByCode(codes);
  if (parameter !== undefined) return rejectedCharge({ by: 'Square', code: codes[0], detail }, parameter);
  if (status === 402 || categories.includes('PAYMENT_METHOD_ERROR')) return declined(declineCode(codes));
  return rejectedCharge({ by: 'Square', code: codes[0], detail }, parameterByField(fault));
}

type Parameter = 'amount' | 'currency' | 'token';

/** https://developer.squareup.com/reference/square/enums/ErrorCode */
const parametersByCode: Readonly<Record<string, Parameter>> = {
  CARD_TOKEN_USED: 'token',
  CARD_TOKEN_EXPIRED: 'token',
  SOURCE_USED: 'token',
  SOURCE_EXPIRED: 'token',
  INVALID_CARD: 'token',
  INVALID_CARD_DATA: 'token',
  INVALID_ENCRYPTED_CARD: 'token',
  AMOUNT_TOO_HIGH: 'amount',
  AMOUNT_TOO_LOW: 'amount',
  PAYMENT_AMOUNT_MISMATCH: 'amount',
  CURRENCY_MISMATCH: 'currency',
  UNSUPPORTED_CURRENCY: 'currency',
};

function parameterByCode(codes: readonly string[]): Parameter | undefined {
  return codes.map((code) => parametersByCode[code]).find((parameter) => parameter !== undefined);
}

/**
 * Square names no field for an unknown nonce
 * (https://developer.squareup.com/forums/t/invalid-card-data-when-create-authorized-payment/10767).
 */
function parameterByField({ fields, codes }: Fault): Parameter | undefined {
  if (fields.includes('source_id')) return 'token';
  if (fields.includes('amount_money.currency')) return 'currency';
  if (fields.some((field) => field === 'amount_money' || field === 'amount_money.amount')) return 'amount';
  return fields.length === 0 && codes.includes('NOT_FOUND') ? 'token' : undefined;
}

/**
 * The decline code is Square's error code in lower case, except the one that requires authentication. With
 * INSUFFICIENT_FUNDS Square may return the balance of a gift card as a second code, which is not a reason.
 */
function declineCode(codes: readonly string[]): string {
  if (codes.includes('CARD_DECLINED_VERIFICATION_REQUIRED')) return 'authentication_required';
  const code = codes.find((each) => each !== 'GIFT_CARD_AVAILABLE_AMOUNT') ?? 'GENERIC_DECLINE';
  return code.toLowerCase();
}

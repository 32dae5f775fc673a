import { defined } from '../../defined.ts';
import type {
  Account,
  CanceledCharge,
  CancelOutcome,
  ChargeOutcome,
  ChargeRequest,
  Check,
  ConnectedProcessor,
  LookUp,
  NotAttempted,
  OpenAttempt,
  Owner,
  Period,
  ProcessorCharge,
  RefundOutcome,
  RefundRequest,
  SoughtCharge,
  SoughtRefund,
  Unknown,
} from '../processor.ts';
import { declined, isFinal, outcomeInTime } from '../sending/outcomes.ts';
import { NotSentError } from '../sending/send-once.ts';
import type { LedgerCharge, LedgerRefundReply, LedgerReply, SimulatedLedger } from './ledger.ts';

/** The ledger never forgets a key. */
const keyLifeMs = 365 * 24 * 60 * 60 * 1_000;

/**
 * A processor that moves no money, for trying things out and for crash drills. Only `serve --simulate` serves it, under
 * the name `simulated`; its charge ids are `ch_simulated_…`.
 *
 * @param challengeUrl the page on which a person plays the cardholder
 */
export function simulatedProcessor(
  ledger: SimulatedLedger,
  challengeUrl: (id: string) => string = (id) => `http://localhost/stage/challenge/${id}`,
): ConnectedProcessor {
  return {
    name: 'simulated',
    movesMoney: false,
    keyLifeMs,
    cancelMsMax: 0,
    isSingleUse: () => false,
    charge: (request) => charge(ledger, challengeUrl, request),
    findCharge: (sought) => findCharge(ledger, challengeUrl, sought),
    cancelCharge: (canceled) => cancelCharge(ledger, canceled),
    refund: (request) => refund(ledger, request),
    findRefund: (sought) => findRefund(ledger, sought),
    findOwner: (chargeId, timeoutMs) => findOwner(ledger, chargeId, timeoutMs),
    charges: (period) => charges(ledger, period),
    openAttempts: () => openAttempts(ledger),
    account: (timeoutMs) => account(ledger, timeoutMs),
    check: (timeoutMs) => check(ledger, timeoutMs),
    readEvent: async () => ({ kind: 'not_configured' }),
  };
}

type ChallengeUrl = (id: string) => string;

function charge(
  ledger: SimulatedLedger,
  challengeUrl: ChallengeUrl,
  request: ChargeRequest,
): Promise<ChargeOutcome> {
  const { paymentId, processorKey: key, amount, currency, token, timeoutMs } = request;
  const optional = defined({
    returnUrl: request.returnUrl,
    request: request.request,
    metadata: request.metadata,
  });
  const charged = ledger
    .charge({ key, paymentId, amount, currency, token, ...optional })
    .then((reply) => chargeOutcome(reply, challengeUrl), notMade);
  return outcomeInTime(charged, timeoutMs);
}

function chargeOutcome(reply: LedgerReply, challengeUrl: ChallengeUrl): ChargeOutcome {
  switch (reply.kind) {
    case 'paid':
      return { kind: 'succeeded', chargeId: reply.chargeId };
    case 'declined':
      return declined(reply.declineCode);
    case 'challenge': {
      const { challengeId: attemptId } = reply;
      const action = { type: 'redirect', url: challengeUrl(attemptId) } as const;
      return { kind: 'requires_action', attemptId, action };
    }
    case 'no_such_token':
      return {
        kind: 'rejected',
        param: 'token',
        message: 'The simulated processor does not know this token. Try tok_paid or tok_insufficient_funds.',
        detail: 'no such token',
      };
    case 'error':
      return { kind: 'not_attempted', detail: 'scripted processor error' };
    case 'lost':
      return { kind: 'unknown', detail: 'scripted loss of the reply' };
  }
}

function notMade(error: unknown): NotAttempted | Unknown {
  return error instanceof NotSentError ? { kind: 'not_attempted', detail: error.message } : unreachable;
}

function findCharge(
  ledger: SimulatedLedger,
  challengeUrl: ChallengeUrl,
  { paymentId, attemptId, timeoutMs }: SoughtCharge,
): Promise<LookUp<ChargeOutcome>> {
  const found =
    attemptId === undefined ? findMade(ledger, paymentId) : findAttempt(ledger, challengeUrl, attemptId);
  return reply(found, timeoutMs);
}

async function findMade(ledger: SimulatedLedger, paymentId: string): Promise<LookUp<ChargeOutcome>> {
  const made = await ledger.findCharge(paymentId);
  if (made === undefined) return { kind: 'absent' };
  const { chargeId, amount, currency } = made;
  return { kind: 'succeeded', chargeId, taken: { amount, currency } };
}

async function findAttempt(
  ledger: SimulatedLedger,
  challengeUrl: ChallengeUrl,
  attemptId: string,
): Promise<LookUp<ChargeOutcome>> {
  const challenge = await ledger.findChallenge(attemptId);
  if (challenge === undefined) return { kind: 'absent' };
  const outcome = chargeOutcome(challenge.reply, challengeUrl);
  if (outcome.kind !== 'not_attempted') return outcome;
  return declined('canceled');
}

function cancelCharge(
  ledger: SimulatedLedger,
  { processorKey, attemptId, timeoutMs }: CanceledCharge,
): Promise<CancelOutcome> {
  // A store that has adopted an attempt does not know the key of its request.
  const key = attemptId === undefined ? Promise.resolve(processorKey) : challengeKey(ledger, attemptId);
  const canceled = key
    .then((known) => ledger.cancel(known ?? processorKey))
    .then((answer): CancelOutcome => {
      if (answer.kind === 'canceled') return answer;
      const outcome = chargeOutcome(answer, () => '');
      return isFinal(outcome) || outcome.kind === 'unknown' ? outcome : { kind: 'canceled' };
    });
  return reply(canceled, timeoutMs);
}

async function challengeKey(ledger: SimulatedLedger, id: string): Promise<string | undefined> {
  return (await ledger.findChallenge(id))?.charge.key;
}

function refund(ledger: SimulatedLedger, request: RefundRequest): Promise<RefundOutcome> {
  const { refundId, chargeId, processorKey: key, amount, timeoutMs } = request;
  const refunded = ledger.refund({ key, refundId, chargeId, amount }).then(refundOutcome, notMade);
  return outcomeInTime(refunded, timeoutMs);
}

function refundOutcome(reply: LedgerRefundReply): RefundOutcome {
  switch (reply.kind) {
    case 'refunded':
      return { kind: 'succeeded', processorRefundId: reply.ledgerRefundId };
    case 'pending':
      return { kind: 'pending', processorRefundId: reply.ledgerRefundId };
    case 'lost':
      return { kind: 'unknown', detail: 'scripted loss of the reply' };
    default:
      return {
        kind: 'rejected',
        message: 'The simulated processor rejected the refund; nothing was refunded.',
        detail: reply.kind,
      };
  }
}

function findRefund(
  ledger: SimulatedLedger,
  { refundId, timeoutMs }: SoughtRefund,
): Promise<LookUp<RefundOutcome>> {
  const found = ledger.findRefund(refundId).then((made): LookUp<RefundOutcome> => {
    if (made === undefined) return { kind: 'absent' };
    return { kind: made.isPending ? 'pending' : 'succeeded', processorRefundId: made.ledgerRefundId };
  });
  return reply(found, timeoutMs);
}

function findOwner(ledger: SimulatedLedger, chargeId: string, timeoutMs: number): Promise<Owner | Unknown> {
  const found = ledger
    .findChargeById(chargeId)
    .then((made): Owner => ({ kind: 'owner', paymentId: made?.paymentId, isPaid: made !== undefined }));
  return reply(found, timeoutMs);
}

function check(ledger: SimulatedLedger, timeoutMs: number): Promise<Check> {
  return reply(
    ledger.records().then(() => ({ kind: 'well' })),
    timeoutMs,
  );
}

async function* charges(ledger: SimulatedLedger, { from, until }: Period): AsyncGenerator<ProcessorCharge> {
  const { charges, refunds } = await ledger.records();
  const refunded = new Map<string, number>();
  for (const { chargeId, amount } of refunds) refunded.set(chargeId, (refunded.get(chargeId) ?? 0) + amount);
  for (const charge of charges) {
    const { chargeId, madeAt } = charge;
    if (madeAt < from || madeAt >= until) continue;
    yield { chargeId, amountRefunded: refunded.get(chargeId) ?? 0, ...recorded(charge) };
  }
}

/** Yields all of them, because a challenge does not expire. */
async function* openAttempts(ledger: SimulatedLedger): AsyncGenerator<OpenAttempt> {
  for (const { challengeId, charge } of await ledger.openChallenges())
    yield { attemptId: challengeId, ...recorded(charge) };
}

function recorded({ paymentId, amount, currency, request, metadata }: LedgerCharge) {
  return { paymentId, amount, currency, ...defined({ request, metadata }) };
}

/** Each ledger is an account of its own. */
function account(ledger: SimulatedLedger, timeoutMs: number): Promise<Account> {
  const read = ledger.ledgerId().then((id): Account => ({ kind: 'account', id, mode: 'test' }));
  return reply(read, timeoutMs);
}

const unreachable: Unknown = { kind: 'unknown', detail: 'the ledger could not be reached' };

/** What the ledger replies; unknown when it fails, or replies too late. */
function reply<Reply>(call: Promise<Reply>, timeoutMs: number): Promise<Reply | Unknown> {
  const replied = call.catch(() => unreachable);
  return outcomeInTime(replied, timeoutMs);
}

import { sendOnce } from '../sending/send-once.ts';
import {
  type LedgerCancelReply,
  type LedgerChallenge,
  type LedgerCharge,
  type LedgerRecords,
  type LedgerRefund,
  type LedgerRefundReply,
  type LedgerRefundRequest,
  type LedgerReply,
  type LedgerRequest,
  type SimulatedLedger,
  unnamedLedger,
} from './ledger.ts';
import { callMsMax } from './limits.ts';

/** A ledger in a separate process, over HTTP on loopback. Rejects as `sendOnce` does. */
export class RemoteLedger implements SimulatedLedger {
  readonly #origin: string;

  constructor(origin: string) {
    this.#origin = origin;
  }

  charge(request: LedgerRequest): Promise<LedgerReply> {
    return this.#call('/charges', request);
  }

  cancel(key: string): Promise<LedgerCancelReply> {
    return this.#call('/cancellations', { key });
  }

  refund(request: LedgerRefundRequest): Promise<LedgerRefundReply> {
    return this.#call('/refunds', request);
  }

  async findCharge(paymentId: string): Promise<LedgerCharge | undefined> {
    return (await this.records()).charges.find((charge) => charge.paymentId === paymentId);
  }

  async findChargeById(chargeId: string): Promise<LedgerCharge | undefined> {
    return (await this.records()).charges.find((charge) => charge.chargeId === chargeId);
  }

  async findRefund(refundId: string): Promise<LedgerRefund | undefined> {
    return (await this.records()).refunds.find((refund) => refund.refundId === refundId);
  }

  async findChallenge(id: string) {
    const { found } = await this.#call<{ found?: Awaited<ReturnType<SimulatedLedger['findChallenge']>> }>(
      '/challenges',
      { id },
    );
    return found;
  }

  async openChallenges(): Promise<readonly LedgerChallenge[]> {
    return (await this.#call<{ open: readonly LedgerChallenge[] }>('/open-challenges')).open;
  }

  async decide(challengeId: string, isApproved: boolean): Promise<void> {
    await this.#call('/decisions', { challengeId, isApproved });
  }

  records(): Promise<LedgerRecords> {
    return this.#call('/records');
  }

  async ledgerId(): Promise<string> {
    return (await this.records()).id ?? unnamedLedger;
  }

  async #call<Reply>(path: string, json?: unknown): Promise<Reply> {
    const method = json === undefined ? 'GET' : 'POST';
    const body = json === undefined ? undefined : JSON.stringify(json);
    const url = new URL(this.#origin + path);
    const { text } = await sendOnce({ url, method, headers: {}, body, timeoutMs: callMsMax });
    return JSON.parse(text) as Reply;
  }
}

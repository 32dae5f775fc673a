import { sendOnce } from '../sending/send-once.ts';
import {
  type FoundChallenge,
  type LedgerCancelReply,
  type LedgerChallenge,
  type LedgerRecords,
  type LedgerRefundReply,
  type LedgerRefundRequest,
  type LedgerReply,
  type LedgerRequest,
  SimulatedLedger,
} from './ledger.ts';

/** Longer than the time-out of any caller. */
const callMsMax = 60_000;

/** A ledger in a separate process, over HTTP on loopback. Rejects as `sendOnce` does. */
export class RemoteLedger extends SimulatedLedger {
  readonly #origin: string;

  constructor(origin: string) {
    super();
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

  async findChallenge(id: string): Promise<FoundChallenge | undefined> {
    return (await this.#call<{ found?: FoundChallenge }>('/challenges', { id })).found;
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

  async #call<Reply>(path: string, json?: unknown): Promise<Reply> {
    const method = json === undefined ? 'GET' : 'POST';
    const body = json === undefined ? undefined : JSON.stringify(json);
    const url = new URL(this.#origin + path);
    const { text } = await sendOnce({ url, method, headers: {}, body, timeoutMs: callMsMax });
    return JSON.parse(text) as Reply;
  }
}

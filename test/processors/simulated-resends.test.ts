import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json as readJson } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import type { LedgerRefundRequest, LedgerRequest } from '../../src/processors/simulated/ledger.ts';
import { MemoryLedger } from '../../src/processors/simulated/memory-ledger.ts';
import { RemoteLedger } from '../../src/processors/simulated/remote-ledger.ts';
import { simulatedProcessor } from '../../src/processors/simulated/simulated.ts';
import { type ResendFixture, resendContract } from '../contracts/processor-resends.ts';
import { ledgerFixture } from '../support/ledger/adapter.ts';

const chargeLost = 'tok_visa';
const refundLost = 'tok_refund_pending';

/** A ledger that resets the connection after the first request with a key is done, and rejects later ones. */
class ResettingLedger {
  readonly ledger = new MemoryLedger();
  readonly arrivals = { charges: 0, refunds: 0 };
  readonly #lost = new Set<string>();
  #isRepaired = false;

  repair(): void {
    this.#isRepaired = true;
  }

  async start(t: TestContext): Promise<string> {
    const server = createServer((request, response) => {
      void this.#replyTo(request).then((reply) => {
        if (reply === undefined) request.socket.resetAndDestroy();
        else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => {
      server.close();
      server.closeAllConnections();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async #replyTo(request: IncomingMessage): Promise<unknown> {
    if (request.url === '/charges') {
      const charge = (await readJson(request)) as LedgerRequest;
      this.arrivals.charges++;
      const isLost = charge.token === chargeLost;
      return this.#once(charge.key, isLost, { kind: 'error' }, () => this.ledger.charge(charge));
    }
    if (request.url === '/refunds') {
      const refund = (await readJson(request)) as LedgerRefundRequest;
      this.arrivals.refunds++;
      const charge = await this.ledger.findChargeById(refund.chargeId);
      const isLost = `tok_${charge?.refunds}` === refundLost;
      return this.#once(refund.key, isLost, { kind: 'rejected' }, () => this.ledger.refund(refund));
    }
    return this.ledger.records();
  }

  /** Undefined for a lost reply. */
  async #once(key: string, isLost: boolean, rejection: unknown, execute: () => Promise<unknown>) {
    if (!isLost || this.#isRepaired) return execute();
    if (this.#lost.has(key)) return rejection;
    this.#lost.add(key);
    await execute();
    return undefined;
  }
}

async function fixture(t: TestContext): Promise<ResendFixture> {
  const double = new ResettingLedger();
  const { ledger } = double;
  const processor = simulatedProcessor(new RemoteLedger(await double.start(t)));
  return {
    ...ledgerFixture(ledger, { processor, repair: () => double.repair(), neverReplies: 'tok_slow' }),
    lostThenRejected: { charges: [chargeLost], refunds: [refundLost] },
    arrivals: () => ({ ...double.arrivals }),
  };
}

resendContract('simulated, with its ledger over HTTP', fixture);

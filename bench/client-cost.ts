import { Counterfoil } from '../client/src/index.ts';

/**
 * Measures the processor time that reads of a table of ten items take in the process of the caller, with the client and
 * with a bare `fetch`. Processor time holds on a busy machine better than the time of a response does.
 *
 * Usage: node bench/client-cost.ts ORIGIN TABLE BLOCKS
 *
 * Prints a `ClientCost` as JSON.
 */
export interface ClientCost {
  /** Milliseconds of 1,000 requests, user and system time of all threads. */
  readonly client: number;
  readonly bare: number;
}

/** So short that both sides meet the same other work on the machine, and the same share of garbage collections. */
const requestsPerBlock = 100;
/** By then Node has compiled the hot code. */
const warmUpBlocks = 30;

const [origin = '', table = '', blocks] = process.argv.slice(2);
const url = `${origin}/v3/table/${table}/read`;
const ten = new Counterfoil({ url: origin }).table(table);

const sides = {
  client: async () => (await ten.all()).length,
  bare: async () => {
    const response = await fetch(url);
    const { body } = (await response.json()) as { readonly body: readonly unknown[] };
    return body.length;
  },
};

async function microsecondsOf(read: () => Promise<number>): Promise<number> {
  const before = process.cpuUsage();
  for (let count = 0; count < requestsPerBlock; count++) {
    if ((await read()) !== 10) throw new Error(`${url}: not 10 items`);
  }
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

const sums = { client: 0, bare: 0 };
for (let block = -warmUpBlocks; block < Number(blocks); block++) {
  // Each side comes first in every other block, so that neither always pays for what the other has left over.
  const order = block % 2 === 0 ? (['bare', 'client'] as const) : (['client', 'bare'] as const);
  for (const side of order) {
    const microseconds = await microsecondsOf(sides[side]);
    if (block >= 0) sums[side] += microseconds;
  }
}
const perThousand = (microseconds: number) => microseconds / (Number(blocks) * requestsPerBlock);
const cost: ClientCost = { client: perThousand(sums.client), bare: perThousand(sums.bare) };
process.stdout.write(JSON.stringify(cost));

import { Agent, type IncomingHttpHeaders, request } from 'node:http';

export interface Begun {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

/** Begins sign-ins from one address of this machine, over a few connections that stay open. */
export class Begins {
  readonly #url: string;
  readonly #agent: Agent;
  readonly #localAddress: string;

  constructor(url: string, localAddress = '127.0.0.1', connections = 16) {
    this.#url = url;
    this.#localAddress = localAddress;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  one(headers: Record<string, string> = {}): Promise<Begun> {
    const options = { agent: this.#agent, localAddress: this.#localAddress, headers };
    return new Promise((resolve, reject) => {
      const sent = request(this.#url, options, (response) => {
        response.resume();
        response.on('end', () =>
          resolve({ status: response.statusCode as number, headers: response.headers }),
        );
        response.on('error', reject);
      });
      sent.on('error', reject);
      sent.end();
    });
  }

  /** Begins `count` sign-ins, with `atOnce` concurrent requests. @returns how often each status was returned */
  async many(count: number, atOnce = 16): Promise<Map<number, number>> {
    const counts = new Map<number, number>();
    let left = count;
    const send = async () => {
      while (left-- > 0) {
        const { status } = await this.one();
        counts.set(status, (counts.get(status) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, send));
    return counts;
  }

  close(): void {
    this.#agent.destroy();
  }
}

import type { FastifyReply, FastifyRequest } from 'fastify';
import { countedAddress } from '../../access/counted-address.ts';
import { ServiceError } from '../../errors.ts';
import { keylessBodyBytesMax, uploadBytesMax, uploadBytesPerAddressMax } from '../limits.ts';
import { AddressCounts } from './address-counts.ts';

/**
 * Bounds the memory that bodies on their way may take on routes that strangers can send to. A body counts with the
 * length that it says, or that its route takes, until it is answered: a body that comes slowly is held all that time. Small
 * bodies are not counted: the bound on running requests is theirs.
 */
export class Uploads {
  #bytes = 0;
  readonly #ofAddress = new AddressCounts();

  /** @param bytesMax of the route. @returns `overloaded`, or undefined when the body was counted */
  refusal(request: FastifyRequest, reply: FastifyReply, bytesMax: number): ServiceError | undefined {
    const bytes = expectedBytes(request, bytesMax);
    if (bytes <= keylessBodyBytesMax) return undefined;
    const address = countedAddress(request.address);
    const isTooMuchOfAddress = this.#ofAddress.of(address) + bytes > uploadBytesPerAddressMax;
    if (isTooMuchOfAddress || this.#bytes + bytes > uploadBytesMax) return tooMuch;
    this.#bytes += bytes;
    this.#ofAddress.add(address, bytes);
    reply.raw.once('close', () => {
      this.#bytes -= bytes;
      this.#ofAddress.remove(address, bytes);
    });
    return undefined;
  }
}

/** A body that says no length may be as long as its route takes; one that says more is refused by its route. */
function expectedBytes({ headers }: FastifyRequest, bytesMax: number): number {
  if (headers['transfer-encoding'] !== undefined) return bytesMax;
  return Math.min(Number(headers['content-length'] ?? 0), bytesMax);
}

const tooMuch = new ServiceError('overloaded', {
  retryAfterSeconds: 1,
  detail: 'bodies on their way',
  headers: { connection: 'close' },
});

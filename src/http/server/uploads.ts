import type { FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../../errors.ts';
import { keylessBodyBytesMax, uploadBytesMax, uploadBytesPerAddressMax } from '../limits.ts';
import { whenClosed } from '../response/when-closed.ts';
import { AddressCounts } from './address-counts.ts';

/**
 * Limits the memory of request bodies on routes that need no secret key. A body counts with its declared length, or with the
 * maximum of its route, until the response is closed: a slow body is in memory all that time. Small bodies are not counted:
 * the limit on running requests covers them.
 */
export class Uploads {
  #bytes = 0;
  readonly #ofAddress = new AddressCounts();

  /** Counts a body, if there is room for it. @param bytesMax of the route. @returns `overloaded` if there is none */
  count(request: FastifyRequest, reply: FastifyReply, bytesMax: number): ServiceError | undefined {
    const bytes = expectedBytes(request, bytesMax);
    if (bytes <= keylessBodyBytesMax) return undefined;
    const address = request.countedAddress;
    const isTooMuchOfAddress = this.#ofAddress.of(address) + bytes > uploadBytesPerAddressMax;
    if (isTooMuchOfAddress || this.#bytes + bytes > uploadBytesMax) return tooMuch;
    this.#bytes += bytes;
    this.#ofAddress.add(address, bytes);
    whenClosed(reply.raw, () => {
      this.#bytes -= bytes;
      this.#ofAddress.remove(address, bytes);
    });
    return undefined;
  }
}

/** A body without a declared length may have the maximum of its route, which rejects longer bodies. */
function expectedBytes({ headers }: FastifyRequest, bytesMax: number): number {
  if (headers['transfer-encoding'] !== undefined) return bytesMax;
  return Math.min(Number(headers['content-length'] ?? 0), bytesMax);
}

const tooMuch = new ServiceError('overloaded', {
  retryAfterSeconds: 1,
  detail: 'request bodies in memory',
  headers: { connection: 'close' },
});

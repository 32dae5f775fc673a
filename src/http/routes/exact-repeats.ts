import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { idempotencyScope } from '../../access/permission.ts';
import type { PaymentResponse } from '../../payments/types.ts';
import { parseStrictJson } from '../../strict-json.ts';
import { exactRepeatBodyBytesMax, exactRepeatsCachedBytesMax, exactRepeatsCachedMax } from '../limits.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** On this route, a request that is repeated byte for byte is neither parsed nor checked again. */
    exactRepeats?: ExactRepeats;
  }
}

/** A request whose charge has succeeded. */
interface Repeated {
  readonly bytes: Buffer;
  /** The parsed and validated body. */
  readonly body: object;
  readonly response: PaymentResponse;
}

/**
 * Recognizes charge requests that were sent before with the same idempotency key and the same bytes, and whose charge has
 * succeeded: key, request and response of such a payment never change. Any other request takes the usual path, which compares
 * the meaning of the bodies. The caller has been authorized before.
 */
export class ExactRepeats {
  readonly #byKey = new LRUCache<string, Repeated>({
    max: exactRepeatsCachedMax,
    maxSize: exactRepeatsCachedBytesMax,
    sizeCalculation: ({ bytes, response }, key) => bytes.length + response.text.length + key.length,
  });
  /** By parsed body: its bytes, until the response to its request is known. */
  readonly #bytes = new WeakMap<object, Buffer>();
  readonly #responses = new WeakMap<object, PaymentResponse>();

  /** The parsed body of a request. Throws the errors of `parseStrictJson`. */
  parse(request: FastifyRequest, bytes: Buffer): unknown {
    const key = repeatKey(request);
    const known = key === undefined ? undefined : this.#byKey.get(key);
    if (known?.bytes.equals(bytes)) return known.body;
    const body = parseStrictJson(bytes);
    const isNotable = key !== undefined && bytes.length <= exactRepeatBodyBytesMax;
    if (isNotable && typeof body === 'object' && body !== null) this.#bytes.set(body, bytes);
    return body;
  }

  /** The response to a body that `parse` has recognized. */
  responseTo(body: object): PaymentResponse | undefined {
    return this.#responses.get(body);
  }

  /** Call it with each response to a parsed body. */
  note(request: FastifyRequest, body: object, response: PaymentResponse): void {
    const bytes = this.#bytes.get(body);
    const key = repeatKey(request);
    // Only the response to a succeeded charge has this status.
    if (response.status !== 200 || bytes === undefined || key === undefined) return;
    this.#bytes.delete(body);
    const replay = { ...response, replayed: true };
    // A copy, because the bytes are part of a larger buffer of the socket.
    this.#byKey.set(key, { bytes: Buffer.from(bytes), body, response: replay });
    this.#responses.set(body, replay);
  }
}

/** Neither a header nor a URL contains a line end. */
function repeatKey({ caller, url, headers }: FastifyRequest): string | undefined {
  const key = headers['idempotency-key'];
  return key === undefined ? undefined : `${idempotencyScope(caller)}\n${url}\n${key}`;
}

import type { Socket } from 'node:net';
import { ServiceError } from '../../errors.ts';
import type { ActiveRequest, Connection, Peer } from './active-request.ts';
import { AddressCounts } from './caller-address.ts';
import type { QueueBounds } from './fair-queue.ts';

/** Connections of one listener of one process, some 10 KB each. Beyond it the longest idle one is closed for the new one. */
const connectionsMax = 8_192;
/** When only this part is left, responses send `Connection: close`, so that no connection has to be closed unannounced. */
const connectionsSparePart = 0.2;
/** Concurrent requests of one listener of one process: with a processor that takes 10 s, 400 charges per second. */
const requestsRunningMax = 4_096;
/** A quarter of the listener's limit for one address: no browser or office comes near it, and there is room for others. */
const connectionsPerAddressMax = connectionsMax / 4;
const requestsPerAddressMax = requestsRunningMax / 4;
/** Load shedding for longer is not a burst: `/readyz` reports it, so that a load balancer sends requests elsewhere. */
const sheddingMsMax = 30_000;
/**
 * A request that has waited longer when its turn comes is shed. A burst of some hundred requests of a millisecond each, as on a
 * distant store, is not an overload.
 */
export const requestWaitMsMax = 500;
/** A timer that is this late twice in a row shows that other work than requests keeps the event loop busy. */
export const eventLoopDelayMsMax = 500;
/** How often the delay is sampled: twenty samples per second have no measurable cost. */
const eventLoopSampleMs = 50;
/** Unread response bytes of all connections: beyond it new requests are shed. */
const responseBytesWaitingMax = 256 * 1024 * 1024;

/** Limits of one listener. The defaults are the constants of the same names. */
export interface LoadBounds extends QueueBounds {
  readonly requestsRunningMax?: number | undefined;
  readonly connectionsMax?: number | undefined;
  readonly requestsPerAddressMax?: number | undefined;
  readonly connectionsPerAddressMax?: number | undefined;
  readonly requestWaitMsMax?: number | undefined;
  readonly eventLoopDelayMsMax?: number | undefined;
  readonly sheddingMsMax?: number | undefined;
}

interface LoadShedderOptions {
  readonly bounds: LoadBounds;
  /** The address that limits count. */
  readonly addressOf: (socket: Socket) => string;
  /** Bytes of responses that wait for their readers. */
  readonly waitingBytes: () => number;
}

/** A period of load shedding ends after this time without a shed request. */
const sheddingGapMs = 2_000;

/**
 * Measures the load of the process and rejects requests when it is too high. A rejection costs a fraction of serving the
 * request, so that the admitted requests are served in time.
 */
export class LoadShedder {
  readonly #options: LoadShedderOptions;
  readonly #bounds: Required<{ readonly [Bound in Exclude<keyof LoadBounds, keyof QueueBounds>]: number }>;
  readonly #peers = new Map<string, Peer>();
  /** Running requests from proxies, by the address of the caller. */
  readonly #forwarded = new AddressCounts();
  /** Connections without a request, longest idle first. */
  readonly #idle = new Set<Connection>();
  #open = 0;
  #running = 0;
  #shedSince = 0;
  #shedLast = Number.NEGATIVE_INFINITY;
  readonly #delay: EventLoopDelay;

  constructor(options: LoadShedderOptions) {
    this.#options = options;
    const { bounds } = options;
    this.#bounds = {
      requestsRunningMax: bounds.requestsRunningMax ?? requestsRunningMax,
      connectionsMax: bounds.connectionsMax ?? connectionsMax,
      requestsPerAddressMax: bounds.requestsPerAddressMax ?? requestsPerAddressMax,
      connectionsPerAddressMax: bounds.connectionsPerAddressMax ?? connectionsPerAddressMax,
      requestWaitMsMax: bounds.requestWaitMsMax ?? requestWaitMsMax,
      eventLoopDelayMsMax: bounds.eventLoopDelayMsMax ?? eventLoopDelayMsMax,
      sheddingMsMax: bounds.sheddingMsMax ?? sheddingMsMax,
    };
    this.#delay = new EventLoopDelay(this.#bounds.eventLoopDelayMsMax);
  }

  /**
   * Counts a new connection. If its address or the listener has too many, the connection that has been without a complete
   * request for the longest time is closed: sockets that are only held open cannot keep out other callers.
   *
   * @param isProxy a proxy sends the requests of many callers: its address has no limit
   */
  addConnection(socket: Socket, isProxy: boolean): Connection {
    const address = this.#options.addressOf(socket);
    const peer = this.#findOrAddPeer(address);
    const connection: Connection = {
      socket,
      address,
      peer,
      isProxy,
      current: undefined,
      waiting: [],
      isFull: false,
      dropped: 0,
    };
    this.#addIdle(connection);
    this.#open++;
    peer.connections++;
    const isTooManyOfPeer = peer.connections > this.#bounds.connectionsPerAddressMax && !isProxy;
    if (isTooManyOfPeer) closeLongestIdle(peer.idle, connection);
    else if (this.#open > this.#bounds.connectionsMax) closeLongestIdle(this.#idle, connection);
    return connection;
  }

  /** Call it once, when a connection has closed. */
  removeConnection(connection: Connection): void {
    const { address, peer } = connection;
    this.#open--;
    peer.connections--;
    this.#removeIdle(connection);
    if (peer.connections === 0) this.#peers.delete(address);
  }

  /** Call it when a request has arrived: its connection is no longer idle, also while the request waits for its turn. */
  arrive({ connection }: ActiveRequest): void {
    this.#removeIdle(connection);
  }

  /** Counts a request until `end`. `PipelinedRequests` serves one request of a connection at a time. */
  begin({ connection, response }: ActiveRequest): void {
    // If an idle connection is closed unannounced, a request may be in transit on it, which a proxy could not send again.
    if (this.#open > this.#bounds.connectionsMax * (1 - connectionsSparePart))
      response.shouldKeepAlive = false;
    this.#running++;
    connection.peer.running++;
  }

  /** Call it once for each request that has arrived, also for one that has not begun. */
  end({ connection, forwarded, beganAt }: ActiveRequest): void {
    if (beganAt > 0) {
      this.#running--;
      connection.peer.running--;
    }
    if (forwarded !== undefined) this.#forwarded.remove(forwarded);
    if (!connection.socket.destroyed) this.#addIdle(connection);
  }

  /**
   * Sheds a counted request if the load is too high, before any work for it.
   *
   * @param caller the caller's address: behind a trusted proxy it is not the address of the connection
   * @param isVital served at any load, within the limit of its connection
   * @returns `overloaded`, with the reason for the log only; undefined for a request that is served
   */
  shed(active: ActiveRequest, caller: string, isVital: boolean): ServiceError | undefined {
    if (active.isExcess) return tooManyOfConnection;
    if (isVital) return undefined;
    if (this.#isTooManyOfCaller(active, caller)) return tooManyOfAddress;
    const overload = this.#overload(active);
    if (overload !== undefined) this.#noteShed(performance.now());
    return overload;
  }

  /** Whether requests have been shed for longer than a burst. */
  isSheddingForLong(): boolean {
    const now = performance.now();
    return (
      now - this.#shedLast < sheddingGapMs && this.#shedLast - this.#shedSince > this.#bounds.sheddingMsMax
    );
  }

  close(): void {
    this.#delay.close();
  }

  #overload({ arrivedAt, beganAt }: ActiveRequest): ServiceError | undefined {
    if (this.#running > this.#bounds.requestsRunningMax) return tooManyRunning;
    if (this.#delay.isLate) return eventLoopLate;
    if (this.#options.waitingBytes() > responseBytesWaitingMax) return tooMuchWaiting;
    return beganAt - arrivedAt > this.#bounds.requestWaitMsMax ? waitedTooLong : undefined;
  }

  #noteShed(now: number): void {
    if (now - this.#shedLast >= sheddingGapMs) this.#shedSince = now;
    this.#shedLast = now;
  }

  #isTooManyOfCaller(active: ActiveRequest, caller: string): boolean {
    const { requestsPerAddressMax: max } = this.#bounds;
    const { isProxy, peer } = active.connection;
    if (!isProxy) return peer.running > max;
    active.forwarded = caller;
    return this.#forwarded.add(caller) > max;
  }

  #findOrAddPeer(address: string): Peer {
    let peer = this.#peers.get(address);
    if (peer === undefined) {
      peer = { idle: new Set(), connections: 0, running: 0 };
      this.#peers.set(address, peer);
    }
    return peer;
  }

  #addIdle(connection: Connection): void {
    this.#idle.add(connection);
    connection.peer.idle.add(connection);
  }

  #removeIdle(connection: Connection): void {
    this.#idle.delete(connection);
    connection.peer.idle.delete(connection);
  }
}

/** Closes the longest idle connection, or the new one if all others have a request. */
function closeLongestIdle(idle: ReadonlySet<Connection>, added: Connection): void {
  const [longest = added] = idle;
  longest.socket.destroy();
}

// Created once: the stack trace of an error costs more than all other work for a shed request.
const tooManyRunning = overloaded('requests running');
const eventLoopLate = overloaded('event loop late');
const waitedTooLong = overloaded('waited too long');
const tooMuchWaiting = overloaded('responses that wait for their readers');
/** The connection closes, so that a proxy stops sending a body that nobody reads. */
const tooManyOfAddress = overloaded('requests of one address', { connection: 'close' });
/** The connection closes, because the requests behind this one were dropped. */
const tooManyOfConnection = overloaded('requests of one connection', { connection: 'close' });

function overloaded(detail: string, headers: Readonly<Record<string, string>> = {}): ServiceError {
  return new ServiceError('overloaded', { retryAfterSeconds: 1, detail, headers });
}

/** Reports whether the event loop was late twice in a row: then other work than incoming requests keeps it busy. */
class EventLoopDelay {
  isLate = false;
  readonly #sampling: NodeJS.Timeout;

  constructor(delayMsMax: number) {
    let wasLate = false;
    let last = performance.now();
    this.#sampling = setInterval(() => {
      const now = performance.now();
      const isLate = now - last - eventLoopSampleMs > delayMsMax;
      this.isLate = isLate && wasLate;
      wasLate = isLate;
      last = now;
    }, eventLoopSampleMs).unref();
  }

  close(): void {
    clearInterval(this.#sampling);
  }
}

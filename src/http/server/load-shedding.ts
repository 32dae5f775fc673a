import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ServiceError } from '../../errors.ts';
import {
  connectionsMax,
  connectionsPerAddressMax,
  connectionsSparePart,
  eventLoopDelayMsMax,
  loopTurnMsMax,
  requestsPerAddressMax,
  requestsRunningMax,
  responseBytesWaitingMax,
  sheddingMsMax,
} from '../limits.ts';
import { AddressCounts } from './address-counts.ts';
import { EventLoopDelay } from './event-loop-delay.ts';

/** Bounds of one listener; what is not given is as in limits.ts. */
export interface LoadBounds {
  readonly requestsRunningMax?: number | undefined;
  readonly connectionsMax?: number | undefined;
  readonly requestsPerAddressMax?: number | undefined;
  readonly connectionsPerAddressMax?: number | undefined;
  readonly loopTurnMsMax?: number | undefined;
  readonly eventLoopDelayMsMax?: number | undefined;
  readonly sheddingMsMax?: number | undefined;
}

/** A peer: an address of IPv4, or a network of IPv6. */
interface Peer {
  readonly idle: Set<Connection>;
  connections: number;
  running: number;
}

/** A connection, and what of it is still to be answered. */
interface Connection {
  readonly socket: Socket;
  readonly address: string;
  readonly peer: Peer;
  running: number;
  isClosed: boolean;
}

export interface LoadShedderOptions {
  readonly bounds: LoadBounds;
  /** The address that is counted. */
  readonly addressOf: (socket: Socket) => string;
  /** A proxy in front speaks for many: it has no bound of its own. */
  readonly isTrusted: (address: string) => boolean;
  /** Bytes of responses that wait for their readers. */
  readonly waitingBytes: () => number;
}

/** A gap of so long ends a time of shedding. */
const sheddingGapMs = 2_000;

/**
 * Knows how much the process has to do, and so which requests come on top of it. Whoever comes when it is too much is rejected
 * at once, which costs a fraction of serving it: the ones that are served are then served in time.
 */
export class LoadShedder {
  readonly #options: LoadShedderOptions;
  readonly #bounds: Required<{ readonly [Bound in keyof LoadBounds]: number }>;
  readonly #connections = new WeakMap<Socket, Connection>();
  readonly #peers = new Map<string, Peer>();
  /** Requests that proxies have passed on, by the address they came from. */
  readonly #forwarded = new AddressCounts();
  /** Requests beyond the bound of their connection. */
  readonly #excess = new WeakSet<IncomingMessage>();
  /** Connections without a request, those that have waited longest first. */
  readonly #idle = new Set<Connection>();
  #open = 0;
  #running = 0;
  /** When the first request of this turn of the event loop came; 0 while none has. */
  #turnBegan = 0;
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
      loopTurnMsMax: bounds.loopTurnMsMax ?? loopTurnMsMax,
      eventLoopDelayMsMax: bounds.eventLoopDelayMsMax ?? eventLoopDelayMsMax,
      sheddingMsMax: bounds.sheddingMsMax ?? sheddingMsMax,
    };
    this.#delay = new EventLoopDelay(this.#bounds.eventLoopDelayMsMax);
  }

  /**
   * Counts a new connection. When there are too many, of its address or of all, the one that has been without a whole request
   * for longest is ended for it: sockets that are only held open cannot keep out whoever has something to ask.
   */
  addConnection(socket: Socket): void {
    const address = this.#options.addressOf(socket);
    const peer = this.#peerOf(address);
    const connection: Connection = { socket, address, peer, running: 0, isClosed: false };
    this.#connections.set(socket, connection);
    this.#addIdle(connection);
    this.#open++;
    peer.connections++;
    socket.once('close', () => {
      connection.isClosed = true;
      this.#open--;
      this.#running -= connection.running;
      peer.connections--;
      peer.running -= connection.running;
      this.#removeIdle(connection);
      if (peer.connections === 0) this.#peers.delete(address);
    });
    const isTooManyOfPeer =
      peer.connections > this.#bounds.connectionsPerAddressMax && !this.#options.isTrusted(address);
    if (isTooManyOfPeer) endLongest(peer.idle, connection);
    else if (this.#open > this.#bounds.connectionsMax) endLongest(this.#idle, connection);
  }

  /** Counts a request until it has been answered or its connection has closed. @param isExcess beyond its connection's bound */
  addRequest(request: IncomingMessage, response: ServerResponse, isExcess: boolean): void {
    if (isExcess) this.#excess.add(request);
    const connection = this.#connections.get(request.socket);
    if (connection === undefined) return;
    const { peer } = connection;
    // Ended unannounced, an idle connection may have a request on its way, which a proxy could not send again.
    if (this.#open > this.#bounds.connectionsMax * (1 - connectionsSparePart))
      response.shouldKeepAlive = false;
    if (connection.running++ === 0) this.#removeIdle(connection);
    this.#running++;
    peer.running++;
    response.once('close', () => {
      if (connection.isClosed) return;
      this.#running--;
      peer.running--;
      if (--connection.running === 0) this.#addIdle(connection);
    });
  }

  /**
   * Whether a request that has been counted is one too many, before anything is done for it.
   *
   * @param response to this request
   * @param caller the address in whose name it came: behind a trusted proxy another one than its connection's
   * @param isVital served whatever the load, within the bound of its connection
   * @returns `overloaded`, with the reason for the log alone
   */
  refusal(
    request: IncomingMessage,
    response: ServerResponse,
    caller: string,
    isVital: boolean,
  ): ServiceError | undefined {
    if (this.#excess.has(request)) return tooManyOfConnection;
    if (isVital) return undefined;
    const connection = this.#connections.get(request.socket);
    if (connection !== undefined && this.#isTooManyOfCaller(connection, response, caller))
      return tooManyOfAddress;
    const refusal = this.#overload();
    if (refusal !== undefined) this.#noteShed(performance.now());
    return refusal;
  }

  /** Whether requests have been shed for so long that it is no burst. */
  isSheddingForLong(): boolean {
    const now = performance.now();
    return (
      now - this.#shedLast < sheddingGapMs && this.#shedLast - this.#shedSince > this.#bounds.sheddingMsMax
    );
  }

  close(): void {
    this.#delay.close();
  }

  #overload(): ServiceError | undefined {
    if (this.#running > this.#bounds.requestsRunningMax) return tooManyRunning;
    if (this.#delay.isLate) return eventLoopLate;
    if (this.#options.waitingBytes() > responseBytesWaitingMax) return tooMuchWaiting;
    return this.#isTurnOver() ? turnFull : undefined;
  }

  #noteShed(now: number): void {
    if (now - this.#shedLast >= sheddingGapMs) this.#shedSince = now;
    this.#shedLast = now;
  }

  #isTooManyOfCaller({ address, peer }: Connection, response: ServerResponse, caller: string): boolean {
    const { requestsPerAddressMax: max } = this.#bounds;
    return this.#options.isTrusted(address) ? this.#addForwarded(caller, response) > max : peer.running > max;
  }

  /** @returns how many requests of this caller are running now */
  #addForwarded(caller: string, response: ServerResponse): number {
    response.once('close', () => this.#forwarded.remove(caller));
    return this.#forwarded.add(caller);
  }

  #peerOf(address: string): Peer {
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

  /**
   * Requests that are ready are taken one after the other within a turn of the event loop. What one turn takes bounds how long
   * anybody waits to be looked at; a pause before it (a collection of garbage) sheds nobody.
   */
  #isTurnOver(): boolean {
    const now = performance.now();
    if (this.#turnBegan > 0) return now - this.#turnBegan > this.#bounds.loopTurnMsMax;
    this.#turnBegan = now;
    setImmediate(this.#endTurn);
    return false;
  }

  readonly #endTurn = () => {
    this.#turnBegan = 0;
  };
}

/** The new one itself where all others have a request. */
function endLongest(idle: ReadonlySet<Connection>, added: Connection): void {
  const [longest = added] = idle;
  longest.socket.destroy();
}

// Made once: an error notes where it was made, which costs more than all else that is done for a request that is shed.
const tooManyRunning = overloaded('requests running');
const eventLoopLate = overloaded('event loop late');
const turnFull = overloaded('event loop turn full');
const tooMuchWaiting = overloaded('responses that wait for their readers');
/** A proxy need not go on with a body that nobody reads. */
const tooManyOfAddress = overloaded('requests of one address', { connection: 'close' });
/** What was sent behind it was not looked at. */
const tooManyOfConnection = overloaded('requests of one connection', { connection: 'close' });

function overloaded(detail: string, headers: Readonly<Record<string, string>> = {}): ServiceError {
  return new ServiceError('overloaded', { retryAfterSeconds: 1, detail, headers });
}

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ServiceError } from '../errors.ts';
import {
  connectionsMax,
  eventLoopDelayMsMax,
  eventLoopSampleMs,
  loopTurnMsMax,
  requestsPerConnectionMax,
  requestsRunningMax,
  shedToldMs,
} from '../limits.ts';
import type { Log } from '../log.ts';

/** Bounds of one listener; what is not given is as in limits.ts. */
export interface LoadBounds {
  readonly requestsRunningMax?: number | undefined;
  readonly connectionsMax?: number | undefined;
  readonly loopTurnMsMax?: number | undefined;
  readonly eventLoopDelayMsMax?: number | undefined;
}

/** A connection, and what of it is still to be answered. */
interface Connection {
  readonly socket: Socket;
  running: number;
  isClosed: boolean;
}

/**
 * Knows how much the process has to do, and so which requests come on top of it. Whoever comes when it is too much is told
 * so at once, which costs a fraction of serving it: the ones that are served are then served in time.
 */
export class LoadShedder {
  readonly #requestsRunningMax: number;
  readonly #connectionsMax: number;
  readonly #loopTurnMsMax: number;
  readonly #connections = new WeakMap<Socket, Connection>();
  /** Connections without a request, those that have waited longest first. */
  readonly #idle = new Set<Connection>();
  #open = 0;
  #running = 0;
  /** When the first request of this turn of the event loop came; 0 while none has. */
  #turnBegan = 0;
  #isLate = false;
  readonly #sampling: NodeJS.Timeout;

  constructor(bounds: LoadBounds = {}) {
    this.#requestsRunningMax = bounds.requestsRunningMax ?? requestsRunningMax;
    this.#connectionsMax = bounds.connectionsMax ?? connectionsMax;
    this.#loopTurnMsMax = bounds.loopTurnMsMax ?? loopTurnMsMax;
    this.#sampling = this.#sampleDelay(bounds.eventLoopDelayMsMax ?? eventLoopDelayMsMax);
  }

  /**
   * Counts a new connection. When there are too many, the one that has been without a whole request for longest is ended for
   * it: sockets that are only held open cannot keep out whoever has something to ask.
   */
  addConnection(socket: Socket): void {
    const connection: Connection = { socket, running: 0, isClosed: false };
    this.#connections.set(socket, connection);
    this.#idle.add(connection);
    this.#open++;
    socket.once('close', () => {
      connection.isClosed = true;
      this.#open--;
      // An answer that waits behind another one is never told that its connection has closed.
      this.#running -= connection.running;
      this.#idle.delete(connection);
    });
    if (this.#open <= this.#connectionsMax) return;
    const [longest] = this.#idle;
    longest?.socket.destroy();
  }

  /** Counts a request until it has been answered or its connection has closed. */
  addRequest(socket: Socket, response: ServerResponse): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    if (connection.running++ === 0) this.#idle.delete(connection);
    this.#running++;
    response.once('close', () => {
      if (connection.isClosed) return;
      this.#running--;
      if (--connection.running === 0) this.#idle.add(connection);
    });
  }

  /**
   * Whether a request that has been counted is one too many, before anything is done for it. @returns `overloaded`, with the
   * reason for the log alone
   */
  refusal(socket: Socket): ServiceError | undefined {
    if (this.#running > this.#requestsRunningMax) return tooManyRunning;
    if (this.#isLate) return eventLoopLate;
    if (this.#isTurnOver()) return turnFull;
    const running = this.#connections.get(socket)?.running ?? 0;
    return running > requestsPerConnectionMax ? tooManyOfOne : undefined;
  }

  close(): void {
    clearInterval(this.#sampling);
  }

  /**
   * Requests that are ready are taken one after the other within a turn of the event loop. What one turn takes bounds how long
   * anybody waits to be looked at; a pause before it (a collection of garbage) sheds nobody.
   */
  #isTurnOver(): boolean {
    const now = performance.now();
    if (this.#turnBegan > 0) return now - this.#turnBegan > this.#loopTurnMsMax;
    this.#turnBegan = now;
    setImmediate(this.#endTurn);
    return false;
  }

  readonly #endTurn = () => {
    this.#turnBegan = 0;
  };

  /** Late twice in a row, the event loop has more to do than requests bring at the door: what runs comes first. */
  #sampleDelay(delayMsMax: number): NodeJS.Timeout {
    let wasLate = false;
    let last = performance.now();
    return setInterval(() => {
      const now = performance.now();
      const isLate = now - last - eventLoopSampleMs > delayMsMax;
      this.#isLate = isLate && wasLate;
      wasLate = isLate;
      last = now;
    }, eventLoopSampleMs).unref();
  }
}

/** A log for requests that are shed: a line for each would be work that nobody can use. */
export function seldomTold(log: Log): Log {
  let nextAt = 0;
  let untold = 0;
  return {
    ...log,
    warn: (event, fields = {}) => {
      const now = performance.now();
      if (now < nextAt) {
        untold++;
        return;
      }
      nextAt = now + shedToldMs;
      log.warn(event, { ...fields, detail: `${fields.detail}; ${untold} shed since it was last told` });
      untold = 0;
    },
  };
}

// Made once: an error notes where it was made, which costs more than all else that is done for a request that is shed.
const tooManyRunning = overloaded('requests running');
const eventLoopLate = overloaded('event loop late');
const turnFull = overloaded('event loop turn full');
const tooManyOfOne = overloaded('requests of one connection');

function overloaded(detail: string): ServiceError {
  return new ServiceError('overloaded', { retryAfterSeconds: 1, detail });
}

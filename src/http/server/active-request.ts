import { randomBytes } from 'node:crypto';
import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Pipelined requests of one connection, so that one connection cannot use up the limit of all. */
export const requestsPerConnectionMax = 128;
/** Requests dropped behind the last response of a connection before it is reset: one socket read may contain that many. */
const requestsDroppedMax = 1_024;

/** An IPv4 address or an IPv6 network. */
export interface Peer {
  /** Its connections without a request, longest idle first. */
  readonly idle: Set<Connection>;
  connections: number;
  running: number;
}

/** A connection of the listener. */
export interface Connection {
  readonly socket: Socket;
  /** The address that limits count. */
  readonly address: string;
  readonly peer: Peer;
  /** A proxy sends the requests of many callers. */
  readonly isProxy: boolean;
  /** The request that is being served. */
  current: ActiveRequest | undefined;
  /** Pipelined requests behind it. */
  readonly waiting: ActiveRequest[];
  isFull: boolean;
  /** Requests beyond its limit. */
  dropped: number;
}

/** A request on its connection. */
export interface ActiveRequest {
  readonly connection: Connection;
  readonly request: IncomingMessage;
  readonly response: ActiveResponse;
  /** Whether it is beyond the limit of its connection: its response is the last one. */
  readonly isExcess: boolean;
  /** When the turn of the event loop in which it arrived began, in milliseconds of `performance.now()`. */
  arrivedAt: number;
  /** When it began to be served; 0 before, in milliseconds of `performance.now()`. */
  beganAt: number;
  /** The caller behind a proxy, once counted. */
  forwarded: string | undefined;
  /** Called once if the whole response was sent. */
  served: Served | undefined;
}

interface Served {
  responded(status: number, ms: number): void;
}

/** A response of the listener. It knows its request, which saves a look-up. */
export class ActiveResponse extends ServerResponse {
  active: ActiveRequest | undefined;
}

/** The request of a response that `Listener` serves. */
export function activeRequest(response: ServerResponse): ActiveRequest {
  return (response as ActiveResponse).active as ActiveRequest;
}

interface PipelineEvents {
  /** The request is the next of its connection. */
  begin(active: ActiveRequest): void;
  /** Its response is closed: sent as a whole, or the connection has ended. */
  end(active: ActiveRequest): void;
}

/**
 * Serves the pipelined requests of each connection one after the other (RFC 9112, 9.3.2): a request begins after the previous
 * response has been read. So a client that reads nothing holds one response, not a hundred. A response that has begun always
 * has its socket, and emits `close` when the socket closes; the handler may listen too late for that (`whenClosed`).
 */
export class PipelinedRequests {
  readonly #events: PipelineEvents;

  constructor(events: PipelineEvents) {
    this.#events = events;
  }

  /** Requests behind one beyond the limit are dropped: their connection ends. */
  add(connection: Connection, request: IncomingMessage, response: ActiveResponse): void {
    if (connection.isFull) {
      // Node.js holds each of them in memory until the connection ends.
      if (++connection.dropped > requestsDroppedMax) connection.socket.resetAndDestroy();
      return;
    }
    const { current, waiting } = connection;
    connection.isFull = current !== undefined && waiting.length + 1 >= requestsPerConnectionMax;
    const active: ActiveRequest = {
      connection,
      request,
      response,
      isExcess: connection.isFull,
      arrivedAt: 0,
      beganAt: 0,
      forwarded: undefined,
      served: undefined,
    };
    response.active = active;
    if (current === undefined) this.#begin(active);
    else waiting.push(active);
  }

  #begin(active: ActiveRequest): void {
    active.connection.current = active;
    active.response.on('close', this.#end);
    this.#events.begin(active);
  }

  /** One function for all responses: a closure for each would be garbage for each. */
  readonly #end = this.#createEnd();

  #createEnd() {
    const pipelines = this;
    return function end(this: ActiveResponse): void {
      pipelines.#finish(this.active as ActiveRequest);
    };
  }

  #finish(active: ActiveRequest): void {
    const { connection } = active;
    connection.current = undefined;
    this.#events.end(active);
    if (connection.waiting.length === 0 || connection.socket.destroyed) return;
    this.#begin(connection.waiting.shift() as ActiveRequest);
  }
}

/** The unfinished responses of a connection, oldest first. */
export function unfinishedResponses({ current, waiting }: Connection): readonly ActiveResponse[] {
  const turns = current === undefined ? waiting : [current, ...waiting];
  return turns.map(({ response }) => response).filter((response) => !response.writableFinished);
}

const processPart = randomBytes(6).toString('hex');
let count = 0;

/** A request id that is unique among all processes. It is in the response and in the log. */
export function newRequestId(): string {
  count++;
  return `req_${processPart}${count.toString(36).padStart(6, '0')}`;
}

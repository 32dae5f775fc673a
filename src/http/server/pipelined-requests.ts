import type { IncomingMessage } from 'node:http';
import { requestsDroppedMax, requestsPerConnectionMax } from '../limits.ts';
import type { ActiveRequest, ActiveResponse, Connection } from './active-request.ts';

export interface PipelineEvents {
  /** The request is the next of its connection. */
  begin(active: ActiveRequest): void;
  /** Its response is closed: sent as a whole, or the connection has ended. */
  end(active: ActiveRequest): void;
}

/**
 * Serves the pipelined requests of each connection one after the other (RFC 9112, 9.3.2): a request begins after the previous
 * response has been read. So a client that reads nothing holds one response, not a hundred. A response that has begun always
 * has its socket, and emits `close` when the socket closes, which may be before its handler listens (`whenClosed`).
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
  readonly #end = this.#endOf();

  #endOf() {
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

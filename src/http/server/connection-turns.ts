import type { IncomingMessage } from 'node:http';
import { requestsDroppedMax, requestsPerConnectionMax } from '../limits.ts';
import type { Connection, Turn, TurnResponse } from './turn.ts';

export interface TurnEvents {
  /** The turn of a request has come. */
  begin(turn: Turn): void;
  /** Its response is closed: sent as a whole, or the connection has ended. */
  end(turn: Turn): void;
}

/**
 * Serves the pipelined requests of each connection one after the other (RFC 9112, 9.3.2): a request begins after the previous
 * response has been read. So a client that reads nothing holds one response, not a hundred. A response that has begun always
 * has its socket, and is notified when the socket closes.
 */
export class ConnectionTurns {
  readonly #events: TurnEvents;

  constructor(events: TurnEvents) {
    this.#events = events;
  }

  /** Requests behind one beyond the limit are dropped: their connection ends. */
  add(connection: Connection, request: IncomingMessage, response: TurnResponse): void {
    if (connection.isFull) {
      // Node.js holds each of them in memory until the connection ends.
      if (++connection.dropped > requestsDroppedMax) connection.socket.resetAndDestroy();
      return;
    }
    const { current, waiting } = connection;
    connection.isFull = current !== undefined && waiting.length + 1 >= requestsPerConnectionMax;
    const turn: Turn = {
      connection,
      request,
      response,
      isExcess: connection.isFull,
      arrivedAt: 0,
      beganAt: 0,
      forwarded: undefined,
      served: undefined,
    };
    response.turn = turn;
    if (current === undefined) this.#begin(turn);
    else waiting.push(turn);
  }

  #begin(turn: Turn): void {
    turn.connection.current = turn;
    turn.response.on('close', this.#end);
    this.#events.begin(turn);
  }

  /** One function for all responses: a closure for each would be garbage for each. */
  readonly #end = this.#endOf();

  #endOf() {
    const turns = this;
    return function end(this: TurnResponse): void {
      turns.#finish(this.turn as Turn);
    };
  }

  #finish(turn: Turn): void {
    const { connection } = turn;
    connection.current = undefined;
    this.#events.end(turn);
    if (connection.waiting.length === 0 || connection.socket.destroyed) return;
    this.#begin(connection.waiting.shift() as Turn);
  }
}

/** The unfinished responses of a connection, oldest first. */
export function unfinishedResponses({ current, waiting }: Connection): readonly TurnResponse[] {
  const turns = current === undefined ? waiting : [current, ...waiting];
  return turns.map(({ response }) => response).filter((response) => !response.writableFinished);
}

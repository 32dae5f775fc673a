import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { requestsDroppedMax, requestsPerConnectionMax } from '../limits.ts';

interface Turn {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Beyond the limit of its connection: its response is the last one. */
  readonly isExcess: boolean;
}

type Serve = (request: IncomingMessage, response: ServerResponse, isExcess: boolean) => void;

interface Connection {
  /** The first request is being served, the others wait. */
  readonly turns: Turn[];
  isFull: boolean;
  dropped: number;
}

/**
 * Serves the pipelined requests of each connection one after the other (RFC 9112, 9.3.2): a request begins after the previous
 * response has been read. So a client that reads nothing holds one response, not a hundred. A response that has begun always
 * has its socket, and is notified when the socket closes.
 */
export class ConnectionTurns {
  readonly #serve: Serve;
  readonly #connections = new Map<Socket, Connection>();

  /** @param serve called for each request when it is its turn */
  constructor(serve: Serve) {
    this.#serve = serve;
  }

  /** Each request that is being served, with its connection. */
  *running(): Generator<{ readonly socket: Socket } & Turn> {
    for (const [socket, { turns }] of this.#connections) {
      const [turn] = turns;
      if (turn !== undefined) yield { socket, ...turn };
    }
  }

  /** Requests behind one beyond the limit are dropped: their connection ends. */
  add(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const connection = this.#connections.get(socket) ?? this.#open(socket);
    if (connection.isFull) {
      // Node.js holds each of them in memory until the connection ends.
      if (++connection.dropped > requestsDroppedMax) socket.resetAndDestroy();
      return;
    }
    connection.isFull = connection.turns.length >= requestsPerConnectionMax;
    connection.turns.push({ request, response, isExcess: connection.isFull });
    if (connection.turns.length === 1) this.#begin(connection);
  }

  /** The unfinished responses of a connection, oldest first. */
  unfinished(socket: Socket): readonly ServerResponse[] {
    const turns = this.#connections.get(socket)?.turns ?? [];
    return turns.map(({ response }) => response).filter((response) => !response.writableFinished);
  }

  #open(socket: Socket): Connection {
    const connection: Connection = { turns: [], isFull: false, dropped: 0 };
    this.#connections.set(socket, connection);
    socket.once('close', () => this.#connections.delete(socket));
    return connection;
  }

  #begin(connection: Connection): void {
    const [turn] = connection.turns;
    if (turn === undefined) return;
    const { request, response, isExcess } = turn;
    response.once('close', () => {
      connection.turns.shift();
      if (!request.socket.destroyed) this.#begin(connection);
    });
    this.#serve(request, response, isExcess);
  }
}

import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

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
  /** Beyond the limit of its connection: its response is the last one. */
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

export interface Served {
  responded(status: number, ms: number): void;
}

/** A response of the listener; it knows its request, so that nothing has to be looked up. */
export class ActiveResponse extends ServerResponse {
  active: ActiveRequest | undefined;
}

/** The request of a response that `Listener` serves. */
export function activeRequestOf(response: ServerResponse): ActiveRequest {
  return (response as ActiveResponse).active as ActiveRequest;
}

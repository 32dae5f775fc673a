import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { countedAddress } from '../../access/counted-address.ts';
import { failure, jsonContentType } from '../../envelope.ts';
import { ServiceError } from '../../errors.ts';
import { stopGraceMs } from '../../lifecycle.ts';
import {
  connectionsCheckMs,
  headersArrivalMsMax,
  keepAliveMs,
  proxyKeepAliveMs,
  requestArrivalMsMax,
  requestHeaderBytesMax,
} from '../limits.ts';
import { ConnectionTurns, unfinishedResponses } from './connection-turns.ts';
import { type LoadBounds, LoadShedder } from './load-shedding.ts';
import { newRequestId } from './request-id.ts';
import { errorHeaders } from './security-headers.ts';
import { SlowConnections } from './slow-connections.ts';
import { respondStarting } from './starting.ts';
import { type Connection, type Turn, TurnResponse } from './turn.ts';

const idleSweepMs = 50;

export interface ListenerOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** Whether other processes may listen on the port too. */
  readonly reusePort?: boolean | undefined;
  readonly bounds?: LoadBounds | undefined;
  /** How long a response may make no progress. Default: `responseStallMsMax`. */
  readonly responseStallMs?: number | undefined;
  /** A proxy sends the requests of many callers. */
  readonly isTrustedProxy?: ((address: string) => boolean) | undefined;
}

/**
 * A listening HTTP server that responds in the envelope even when no route is reached: before the service is ready, and
 * after a parser error. It enforces the limits of every connection.
 */
export class Listener {
  readonly server: Server;
  readonly load: LoadShedder;
  #requests: RequestListener = respondStarting;
  readonly #connections = new Map<Socket, Connection>();
  readonly #turns = new ConnectionTurns({
    begin: (turn) => {
      this.load.begin(turn);
      this.#requests(turn.request, turn.response);
    },
    end: (turn) => this.#end(turn),
  });
  readonly #slow: SlowConnections;
  readonly #isTrustedProxy: (address: string) => boolean;

  private constructor({ bounds = {}, responseStallMs, isTrustedProxy = () => false }: ListenerOptions) {
    this.#isTrustedProxy = isTrustedProxy;
    this.#slow = new SlowConnections({
      connections: () => this.#connections.values(),
      responseStallMs,
      rejectSlowBody: (socket) => this.#reject(socket, new ServiceError('request_timeout')),
    });
    this.load = new LoadShedder({
      bounds,
      addressOf: ({ remoteAddress = '' }) => countedAddress(remoteAddress),
      waitingBytes: () => this.#slow.waitingBytes,
    });
    this.server = createServer(
      {
        ServerResponse: TurnResponse,
        maxHeaderSize: requestHeaderBytesMax,
        headersTimeout: headersArrivalMsMax,
        requestTimeout: requestArrivalMsMax,
        connectionsCheckingInterval: connectionsCheckMs,
        keepAliveTimeout: keepAliveMs,
        // The parser would respond without the envelope; `Authorizer` rejects a missing Host instead.
        requireHostHeader: false,
      },
      (request, response) => this.#add(request, response),
    );
    // Node.js silently drops headers beyond a count; `maxHeaderSize` limits their bytes.
    this.server.maxHeadersCount = 0;
    this.server.on('connection', (socket) => this.#connect(socket));
    this.server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      if (!socket.writable || error.code === 'ECONNRESET') socket.destroy();
      else this.#reject(socket as Socket, parserError(error.code));
    });
    this.server.on('checkExpectation', rejectExpectation);
    this.server.on('connect', (_request, socket) => this.#reject(socket as Socket, connectError()));
  }

  #connect(socket: Socket): void {
    // Node.js removes its error handler from a socket that leaves the parser (CONNECT). Without one a reset ends the process.
    socket.on('error', () => undefined);
    // Node.js caches the address when it is read, so that it is known after the peer has disconnected.
    const { remoteAddress } = socket;
    if (remoteAddress === undefined) {
      socket.destroy();
      return;
    }
    const connection = this.load.addConnection(socket, this.#isTrustedProxy(remoteAddress));
    this.#connections.set(socket, connection);
    socket.once('close', () => {
      this.#connections.delete(socket);
      this.load.removeConnection(connection);
    });
  }

  #add(request: IncomingMessage, response: TurnResponse): void {
    const connection = this.#connections.get(request.socket);
    // Its socket has closed since the parser received the request.
    if (connection !== undefined) this.#turns.add(connection, request, response);
  }

  #end(turn: Turn): void {
    const { connection, response, served, beganAt } = turn;
    this.load.end(turn);
    // Node.js has set its own timeout before, and removes it when the next request arrives.
    if (connection.isProxy) connection.socket.setTimeout(proxyKeepAliveMs);
    if (response.writableFinished) served?.responded(response.statusCode, performance.now() - beganAt);
  }

  /** Rejects with the error of listening, for instance EADDRINUSE. */
  static async listen(options: ListenerOptions): Promise<Listener> {
    const { host, port, reusePort = false } = options;
    const listener = new Listener(options);
    await new Promise<void>((resolve, reject) => {
      listener.server.once('error', reject);
      listener.server.listen({ port, host, reusePort }, resolve);
    });
    return listener;
  }

  /** `http://host:port`, as a client on this machine reaches it. */
  get origin(): string {
    const { address, family, port } = this.server.address() as AddressInfo;
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  }

  /**
   * Responds to input that did not become a request. If complete requests of the same connection still wait for their
   * responses, an error must not come before those responses or be taken for one: the connection ends after the last of them.
   */
  #reject(socket: Socket, error: ServiceError): void {
    const connection = this.#connections.get(socket);
    const unfinished = connection === undefined ? [] : unfinishedResponses(connection);
    const last = unfinished.findLast(({ req }) => req.complete);
    if (last !== undefined) last.once('close', () => socket.destroySoon());
    // A response has begun before its request was complete: nothing may be written into it.
    else if (unfinished.some(({ headersSent }) => headersSent)) socket.destroy();
    else writeResponse(socket, error);
  }

  /** From now on `requests` handles all requests. */
  serve(requests: RequestListener): void {
    this.#requests = requests;
  }

  /** Accepts no new connections, waits for running requests within the grace period, then closes all connections. */
  async stop(): Promise<void> {
    this.load.close();
    if (!this.server.listening) return;
    const stopped = new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
    const sweep = setInterval(() => this.server.closeIdleConnections(), idleSweepMs);
    const grace = new AbortController();
    const graceEnded = sleep(stopGraceMs, undefined, { signal: grace.signal }).catch(() => undefined);
    await Promise.race([stopped, graceEnded]);
    grace.abort();
    clearInterval(sweep);
    this.server.closeAllConnections();
    this.#slow.close();
    await stopped;
  }
}

function rejectExpectation(_request: IncomingMessage, response: ServerResponse): void {
  const error = new ServiceError('invalid_request', {
    param: 'Expect',
    message: 'The only supported expectation is "Expect: 100-continue".',
  });
  const text = JSON.stringify(failure(error, newRequestId()));
  response.writeHead(error.status, {
    ...errorHeaders,
    'content-type': jsonContentType,
    connection: 'close',
  });
  response.end(text);
}

/** Writes a response to the socket: input that did not become a request has no response object. */
function writeResponse(socket: Socket, error: ServiceError): void {
  const text = JSON.stringify(failure(error, newRequestId()));
  const headers = {
    ...errorHeaders,
    'content-type': jsonContentType,
    'content-length': String(Buffer.byteLength(text)),
    connection: 'close',
    ...error.details.headers,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${text}`);
}

function connectError(): ServiceError {
  return new ServiceError('method_not_allowed', {
    message: 'CONNECT is not supported.',
    headers: { allow: '' },
  });
}

function parserError(code: string | undefined): ServiceError {
  if (code === 'HPE_HEADER_OVERFLOW') return new ServiceError('headers_too_large');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new ServiceError('request_timeout');
  return new ServiceError('invalid_request', { message: 'This is not a well-formed HTTP/1.1 request.' });
}

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
import { failure, jsonContentType } from '../envelope.ts';
import { ServiceError } from '../errors.ts';
import {
  connectionsCheckMs,
  headersArrivalMsMax,
  keepAliveMs,
  requestArrivalMsMax,
  requestHeaderBytesMax,
  requestsPerConnectionMax,
  stopGraceMs,
} from '../limits.ts';
import { type LoadBounds, LoadShedder } from './load-shedding.ts';
import { newRequestId } from './request-id.ts';
import { errorHeaders } from './security-headers.ts';
import { respondStarting } from './starting.ts';

const idleSweepMs = 50;

/**
 * A listening HTTP server that answers in the envelope even where no route is reached: before the service is
 * ready, and when the parser refuses what came.
 */
export class Listener {
  readonly server: Server;
  readonly load: LoadShedder;
  #requests: RequestListener = respondStarting;
  /** The answers that a connection is still to get, oldest first. */
  readonly #owed = new WeakMap<Socket, ServerResponse[]>();

  private constructor(bounds: LoadBounds) {
    this.load = new LoadShedder(bounds);
    this.server = createServer(
      {
        maxHeaderSize: requestHeaderBytesMax,
        headersTimeout: headersArrivalMsMax,
        requestTimeout: requestArrivalMsMax,
        connectionsCheckingInterval: connectionsCheckMs,
        keepAliveTimeout: keepAliveMs,
        // The parser would answer without the envelope; the access check refuses a missing Host instead.
        requireHostHeader: false,
      },
      (request, response) => {
        this.#owe(request.socket, response);
        this.load.addRequest(request.socket, response);
        this.#requests(request, response);
      },
    );
    // Node drops headers beyond a count without a word; their bytes are bounded as it is.
    this.server.maxHeadersCount = 0;
    this.server.on('connection', (socket) => {
      // Each answer that is sent as it is read listens for its end, the ones that wait for their turn too.
      socket.setMaxListeners(2 * requestsPerConnectionMax);
      this.load.addConnection(socket);
    });
    this.server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      if (!socket.writable || error.code === 'ECONNRESET') socket.destroy();
      else this.#refuse(socket as Socket, refusalOfParserError(error.code));
    });
    this.server.on('checkExpectation', answerExpectation);
    this.server.on('connect', (_request, socket) => this.#refuse(socket as Socket, refusalOfConnect()));
  }

  /**
   * @param port 0 takes a free one
   * @param reusePort whether other processes may listen on it too
   */
  static async listen(
    host: string,
    port: number,
    reusePort = false,
    bounds: LoadBounds = {},
  ): Promise<Listener> {
    const listener = new Listener(bounds);
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
   * Answers what did not become a request. While whole requests of the same connection are still to be answered,
   * nothing may come before those answers or be taken for one: then the connection ends with the last of them.
   */
  #refuse(socket: Socket, refusal: ServiceError): void {
    const unfinished = this.#unfinished(socket);
    const last = unfinished.findLast(({ req }) => req.complete);
    if (last !== undefined) last.once('close', () => socket.destroySoon());
    // An answer that has begun before its request had come to an end: nothing may stand within it.
    else if (unfinished.some(({ headersSent }) => headersSent)) socket.destroy();
    else answerByHand(socket, refusal);
  }

  #owe(socket: Socket, response: ServerResponse): void {
    const owed = this.#owed.get(socket);
    if (owed === undefined) {
      this.#owed.set(socket, [response]);
      return;
    }
    while (owed[0]?.writableFinished) owed.shift();
    owed.push(response);
  }

  #unfinished(socket: Socket): readonly ServerResponse[] {
    return (this.#owed.get(socket) ?? []).filter((response) => !response.writableFinished);
  }

  /** From now on requests go to the service. */
  serve(requests: RequestListener): void {
    this.#requests = requests;
  }

  /** Accepts nothing new, lets running requests finish within the grace period, then ends what is left. */
  async stop(): Promise<void> {
    this.load.close();
    if (!this.server.listening) return;
    const stopped = new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
    const sweep = setInterval(() => this.server.closeIdleConnections(), idleSweepMs);
    const grace = new AbortController();
    const outOfTime = sleep(stopGraceMs, undefined, { signal: grace.signal }).catch(() => undefined);
    await Promise.race([stopped, outOfTime]);
    grace.abort();
    clearInterval(sweep);
    this.server.closeAllConnections();
    await stopped;
  }
}

function answerExpectation(_request: IncomingMessage, response: ServerResponse): void {
  const error = new ServiceError('invalid_request', {
    param: 'Expect',
    message: 'The only expectation this service meets is "Expect: 100-continue".',
  });
  const text = JSON.stringify(failure(error, newRequestId()));
  response.writeHead(error.status, {
    ...errorHeaders,
    'content-type': jsonContentType,
    connection: 'close',
  });
  response.end(text);
}

/** What did not become a request: no response object exists, so that the answer is written by hand. */
function answerByHand(socket: Socket, refusal: ServiceError): void {
  const text = JSON.stringify(failure(refusal, newRequestId()));
  const headers = {
    ...errorHeaders,
    'content-type': jsonContentType,
    'content-length': String(Buffer.byteLength(text)),
    connection: 'close',
    ...refusal.details.headers,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\n${lines.join('')}\r\n${text}`);
}

function refusalOfConnect(): ServiceError {
  return new ServiceError('method_not_allowed', {
    message: 'This service is no proxy.',
    headers: { allow: '' },
  });
}

function refusalOfParserError(code: string | undefined): ServiceError {
  if (code === 'HPE_HEADER_OVERFLOW') return new ServiceError('headers_too_large');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new ServiceError('request_timeout');
  return new ServiceError('invalid_request', { message: 'This is not a well-formed HTTP/1.1 request.' });
}

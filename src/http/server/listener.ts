import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { countedAddress } from '../../addresses.ts';
import { ServiceError } from '../../errors.ts';
import { stopGraceMs } from '../../lifecycle.ts';
import {
  type ActiveRequest,
  ActiveResponse,
  type Connection,
  PipelinedRequests,
  unfinishedResponses,
} from './active-request.ts';
import {
  connectError,
  parserError,
  rejectExpectation,
  respondStarting,
  writeResponse,
} from './early-responses.ts';
import { FairQueue } from './fair-queue.ts';
import { type LoadBounds, LoadShedder } from './load-shedding.ts';
import { SlowConnections } from './slow-connections.ts';

/** The default of Node.js. Ids are in bodies, so that no usual request comes near it. */
export const requestHeaderBytesMax = 16 * 1024;
/** Time for the whole request to arrive; a charge has 100 bytes. With the check once a second it is less than 15 s. */
const requestArrivalMsMax = 13_000;
/** A usual client sends its headers in one packet. */
const headersArrivalMsMax = 10_000;
/** A reader that leaves a whole response in the buffers of the system looks idle: its connection ends within 40 s, like a stalled one. */
export const keepAliveMs = 38_000;
/** For trusted proxies: longer than the idle timeout of common load balancers (60 s), so that they close first. */
export const proxyKeepAliveMs = 65_000;
/** How often Node.js checks for late requests; it adds to the time that they have. */
const connectionsCheckMs = 1_000;
/**
 * Connections that the system keeps until they are accepted; Linux allows 4,096 by default. It drops the attempts beyond, which
 * clients repeat after one, three and seven seconds. Node.js asks for 511.
 */
const connectionsQueuedMax = 4_096;
/** Before a listener stops, it accepts what the system holds: thousands of connections, and a small part of the grace period. */
const stopAcceptMsMax = 1_000;

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
  /** The address, as limits count it, of the caller behind a trusted proxy. Default: that of the proxy. */
  readonly callerBehind?: ((proxy: string, headers: IncomingHttpHeaders) => string) | undefined;
}

/**
 * A listening HTTP server that responds in the envelope even when no route is reached: before the service is ready, and
 * after a parser error. It enforces the limits of every connection.
 */
export class Listener {
  readonly server: Server;
  readonly load: LoadShedder;
  /** Whose turn it is to be served. */
  readonly queue: FairQueue;
  #requests: RequestListener = respondStarting;
  readonly #connections = new Map<Socket, Connection>();
  readonly #pipelines = new PipelinedRequests({
    begin: (active) => this.#begin(active),
    end: (active) => this.#end(active),
  });
  readonly #slow: SlowConnections;
  readonly #isTrustedProxy: (address: string) => boolean;
  readonly #callerBehind: (proxy: string, headers: IncomingHttpHeaders) => string;
  readonly #options: ListenerOptions;
  #stopped: Promise<void> | undefined;

  /** Call `open` to listen. */
  constructor(options: ListenerOptions) {
    const { bounds = {}, responseStallMs, isTrustedProxy = () => false } = options;
    this.#options = options;
    this.#isTrustedProxy = isTrustedProxy;
    this.#callerBehind = options.callerBehind ?? countedAddress;
    this.#slow = new SlowConnections({
      connections: () => this.#connections.values(),
      responseStallMs,
      rejectSlowBody: (socket) => this.#reject(socket, new ServiceError('request_timeout')),
    });
    this.queue = new FairQueue(bounds);
    this.load = new LoadShedder({
      bounds,
      addressOf: ({ remoteAddress = '' }) => countedAddress(remoteAddress),
      waitingBytes: () => this.#slow.waitingBytes,
    });
    this.server = createServer(
      {
        ServerResponse: ActiveResponse,
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
    this.queue.noteConnection();
    const connection = this.load.addConnection(socket, this.#isTrustedProxy(remoteAddress));
    this.#connections.set(socket, connection);
    socket.once('close', () => {
      this.#connections.delete(socket);
      this.load.removeConnection(connection);
    });
  }

  #add(request: IncomingMessage, response: ActiveResponse): void {
    const connection = this.#connections.get(request.socket);
    // Its socket has closed since the parser received the request.
    if (connection !== undefined) this.#pipelines.add(connection, request, response);
  }

  #begin(active: ActiveRequest): void {
    this.load.arrive(active);
    const now = performance.now();
    active.arrivedAt = this.queue.turnBegan(now);
    if (this.queue.isFree(now)) this.#serve(active, now);
    else this.queue.add(this.#callerAddress(active), () => this.#serve(active, performance.now()));
  }

  /** The address that limits count. */
  #callerAddress({ connection, request }: ActiveRequest): string {
    const { socket, address, isProxy } = connection;
    return isProxy ? this.#callerBehind(socket.remoteAddress ?? '', request.headers) : address;
  }

  #serve(active: ActiveRequest, now: number): void {
    // Its connection has closed while it waited.
    if (active.connection.current !== active) return;
    active.beganAt = now;
    this.load.begin(active);
    this.#requests(active.request, active.response);
  }

  #end(active: ActiveRequest): void {
    const { connection, response, served, arrivedAt } = active;
    this.load.end(active);
    // Node.js has set its own timeout before, and removes it when the next request arrives.
    if (connection.isProxy) connection.socket.setTimeout(proxyKeepAliveMs);
    if (response.writableFinished) served?.responded(response.statusCode, performance.now() - arrivedAt);
  }

  /** Rejects with the error of listening, for instance EADDRINUSE. */
  static async listen(options: ListenerOptions): Promise<Listener> {
    const listener = new Listener(options);
    await listener.open();
    return listener;
  }

  /** Begins to listen. Rejects with the error of listening. */
  async open(): Promise<void> {
    const { host, port, reusePort = false } = this.#options;
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen({ port, host, reusePort, backlog: connectionsQueuedMax }, resolve);
    });
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
    // A response began before its request was complete: nothing may be written into it.
    else if (unfinished.some(({ headersSent }) => headersSent)) socket.destroy();
    else writeResponse(socket, error);
  }

  /** From now on `requests` handles all requests. */
  serve(requests: RequestListener): void {
    this.#requests = requests;
  }

  /** Accepts the connections that the system holds: it would reset them when the listener closes. */
  async #acceptQueued(): Promise<void> {
    const end = performance.now() + stopAcceptMsMax;
    // The current turn may be past its poll for connections.
    await nextTurn();
    do await nextTurn();
    while (this.queue.isAccepting && performance.now() < end);
  }

  /** Accepts no new connections, waits for running requests within the grace period, then closes all connections. */
  stop(): Promise<void> {
    // Without a separate listener for payments, both names are this one, and each is stopped.
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.load.close();
    if (!this.server.listening) return this.#slow.close();
    const grace = new AbortController();
    const graceEnded = sleep(stopGraceMs, undefined, { signal: grace.signal }).catch(() => undefined);
    // Before it serves, it has no response for them.
    if (this.#requests !== respondStarting) await this.#acceptQueued();
    const stopped = new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
    const sweep = setInterval(() => this.server.closeIdleConnections(), idleSweepMs);
    await Promise.race([stopped, graceEnded]);
    grace.abort();
    clearInterval(sweep);
    this.server.closeAllConnections();
    this.#slow.close();
    await stopped;
  }
}

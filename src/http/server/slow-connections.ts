import { readlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Connection } from './active-request.ts';

/**
 * A connection is closed if its reader reads nothing of a response for this long. The system buffers up to some megabytes for a
 * reader, whose progress shows in its send queue: at 20 KB per second a reader never looks stalled.
 */
export const responseStallMsMax = 30_000;
/** How often, within `responseStallMsMax`, the system is asked how much of a response that seems to stall is unacknowledged. */
const sendQueueLooksPerStall = 10;
/** A usual client sends its body at once; a mobile one may pause for some seconds. */
const bodyGraceMs = 5_000;
/** Slower than any modem. In any case a body must arrive within `requestArrivalMsMax`. */
const bodyBytesPerSecondMin = 500;

/** The output progress of a connection, and when it last changed. */
interface Output {
  readonly mark: string;
  since: number;
  /** What the peer had not acknowledged at the last look; undefined before the first one. */
  queue: string | undefined;
}

/** A request with an incomplete body. */
interface Upload {
  readonly request: IncomingMessage;
  readonly since: number;
  readonly bytesBefore: number;
}

interface SlowConnectionsOptions {
  /** All connections of the listener. */
  readonly connections: () => Iterable<Connection>;
  readonly responseStallMs?: number | undefined;
  /** Called for a connection with a slow request body; it must end the connection. */
  readonly rejectSlowBody: (socket: Socket) => void;
}

/**
 * Ends connections with a reader that reads nothing of a response, and connections with a request body that arrives too
 * slowly. A sweep over all connections costs less than a timer for each response.
 */
export class SlowConnections {
  readonly #options: SlowConnectionsOptions;
  readonly #stallMs: number;
  readonly #outputs = new WeakMap<Socket, Output>();
  readonly #uploads = new WeakMap<Socket, Upload>();
  readonly #sweeping: NodeJS.Timeout;
  #lookedAt = 0;
  #isLooking = false;
  /** Unread response bytes of all connections, as of the last sweep. */
  waitingBytes = 0;

  constructor(options: SlowConnectionsOptions) {
    this.#options = options;
    this.#stallMs = options.responseStallMs ?? responseStallMsMax;
    const sweepMs = Math.min(1_000, this.#stallMs / 4);
    this.#sweeping = setInterval(() => this.#sweep(performance.now()), sweepMs).unref();
  }

  close(): void {
    clearInterval(this.#sweeping);
  }

  #sweep(now: number): void {
    let waiting = 0;
    const waitingSockets: Socket[] = [];
    for (const { socket, current } of this.#options.connections()) {
      if (current === undefined) continue;
      waiting += socket.writableLength;
      if (this.#isStalled(socket, now)) socket.resetAndDestroy();
      else if (this.#isSlow(socket, current.request, now)) this.#options.rejectSlowBody(socket);
      else if (this.#isSuspect(socket, now)) waitingSockets.push(socket);
    }
    this.waitingBytes = waiting;
    if (waitingSockets.length > 0 && !this.#isLooking && now - this.#lookedAt >= this.#lookMs)
      void this.#lookAtQueues(waitingSockets, now);
  }

  get #lookMs(): number {
    return this.#stallMs / sendQueueLooksPerStall;
  }

  /** Whether Node.js has shown no progress of the connection for some time. */
  #isSuspect(socket: Socket, now: number): boolean {
    const output = this.#outputs.get(socket);
    return output !== undefined && now - output.since >= this.#lookMs;
  }

  /** Notes for which connections the peer has acknowledged more since the last look. */
  async #lookAtQueues(sockets: readonly Socket[], now: number): Promise<void> {
    this.#isLooking = true;
    this.#lookedAt = now;
    for (const [socket, queue] of await readSendQueues(sockets)) {
      const output = this.#outputs.get(socket);
      if (output === undefined || output.queue === queue) continue;
      if (output.queue !== undefined) output.since = now;
      output.queue = queue;
    }
    this.#isLooking = false;
  }

  #isStalled(socket: Socket, now: number): boolean {
    if (socket.writableLength === 0) {
      this.#outputs.delete(socket);
      return false;
    }
    const mark = outputProgress(socket);
    const output = this.#outputs.get(socket);
    if (output?.mark !== mark) {
      this.#outputs.set(socket, { mark, since: now, queue: undefined });
      return false;
    }
    return now - output.since >= this.#stallMs;
  }

  #isSlow(socket: Socket, request: IncomingMessage, now: number): boolean {
    if (request.complete) return false;
    const upload = this.#uploads.get(socket);
    if (upload?.request !== request) {
      this.#uploads.set(socket, { request, since: now, bytesBefore: socket.bytesRead });
      return false;
    }
    const ms = now - upload.since;
    const bytes = socket.bytesRead - upload.bytesBefore;
    return ms > bodyGraceMs && bytes < (ms / 1_000) * bodyBytesPerSecondMin;
  }
}

/** Changes whenever the system has accepted more of the written bytes, also within one large buffer. */
function outputProgress(socket: Socket): string {
  const { _handle: handle } = socket as Socket & { readonly _handle?: { readonly writeQueueSize?: number } };
  return `${socket.bytesWritten - socket.writableLength} ${handle?.writeQueueSize}`;
}

/** The tables of TCP connections; of the process itself, because a restricted /proc has no others. */
const tables = ['/proc/self/net/tcp', '/proc/self/net/tcp6'];
/** Columns of these tables (Linux, Documentation/networking/proc_net_tcp.rst). */
const queuesAt = 4;
const inodeAt = 9;

/**
 * The bytes of each connection that the system has accepted and the peer has not acknowledged, as text to compare. Node.js shows
 * only what the system accepts, and the system accepts more only when a third of its buffer of some megabytes is free. Empty on
 * systems without these tables: there a slow reader looks stalled for longer. Reading the tables costs milliseconds for
 * thousands of connections, whatever the number of sockets.
 */
async function readSendQueues(sockets: Iterable<Socket>): Promise<ReadonlyMap<Socket, string>> {
  const byInode = new Map<string, Socket>();
  for (const socket of sockets) {
    const inode = findInode(socket);
    if (inode !== undefined) byInode.set(inode, socket);
  }
  const queues = new Map<Socket, string>();
  if (byInode.size === 0) return queues;
  const texts = await Promise.all(tables.map((table) => readFile(table, 'latin1').catch(() => '')));
  for (const line of texts.join('\n').split('\n')) {
    const columns = line.trim().split(/ +/);
    const socket = byInode.get(columns[inodeAt] ?? '');
    if (socket !== undefined) queues.set(socket, (columns[queuesAt] ?? '').split(':', 1)[0] ?? '');
  }
  return queues;
}

function findInode(socket: Socket): string | undefined {
  const { _handle: handle } = socket as Socket & { readonly _handle?: { readonly fd?: number } };
  if (handle?.fd === undefined || handle.fd < 0) return undefined;
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${handle.fd}`))?.[1];
  } catch {
    return undefined;
  }
}

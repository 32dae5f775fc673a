import { readlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';

/** The tables of TCP connections; of the process itself, because a restricted /proc has no others. */
const tables = ['/proc/self/net/tcp', '/proc/self/net/tcp6'];
/** Columns of these tables (Linux, Documentation/networking/proc_net_tcp.rst). */
const queuesAt = 4;
const inodeAt = 9;

/**
 * The bytes of connections that the system has accepted and the peer has not acknowledged yet, as text to compare. Node.js shows
 * only what the system accepts, and it accepts more when a third of its buffer of some megabytes is free. Empty on systems
 * without these tables: then a slow reader looks stalled for longer. Reading them costs milliseconds for thousands of connections,
 * whatever the number of sockets.
 */
export async function sendQueuesOf(sockets: Iterable<Socket>): Promise<ReadonlyMap<Socket, string>> {
  const byInode = new Map<string, Socket>();
  for (const socket of sockets) {
    const inode = inodeOf(socket);
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

function inodeOf(socket: Socket): string | undefined {
  const { _handle: handle } = socket as Socket & { readonly _handle?: { readonly fd?: number } };
  if (handle?.fd === undefined || handle.fd < 0) return undefined;
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${handle.fd}`))?.[1];
  } catch {
    return undefined;
  }
}

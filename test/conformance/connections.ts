import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** A socket of a process over IPv4, as Linux tells it: its own port and that of the other side. */
export interface Connection {
  readonly localPort: number;
  readonly remotePort: number;
}

/** The TCP sockets that a process holds. */
export function connectionsOf(pid: number): Connection[] {
  const sockets = socketsOf(pid);
  const lines = readFileSync('/proc/net/tcp', 'latin1').trim().split('\n').slice(1);
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => sockets.has(fields[9]))
    .map((fields) => ({ localPort: portOf(fields[1]), remotePort: portOf(fields[2]) }));
}

function portOf(address = ''): number {
  return Number.parseInt(address.slice(address.indexOf(':') + 1), 16);
}

/** By their inodes. */
function socketsOf(pid: number): ReadonlySet<string | undefined> {
  const folder = `/proc/${pid}/fd`;
  return new Set(namesIn(folder).map((name) => inodeOf(`${folder}/${name}`)));
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // The process has ended.
    return [];
  }
}

function inodeOf(path: string): string | undefined {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(path))?.[1];
  } catch {
    return undefined;
  }
}

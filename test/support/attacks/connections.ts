import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** A socket of a process over IPv4, as Linux reports it. */
export interface Connection {
  readonly localPort: number;
  readonly remotePort: number;
  readonly remoteAddress: string;
  /** Bytes that were sent and that the other side has not acknowledged. */
  readonly bytesWaiting: number;
}

/** The TCP sockets that a process holds. */
export function connectionsOf(pid: number): Connection[] {
  const sockets = socketsOf(pid);
  const lines = readFileSync('/proc/net/tcp', 'latin1').trim().split('\n').slice(1);
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => sockets.has(fields[9]))
    .map((fields) => ({
      localPort: portOf(fields[1]),
      remotePort: portOf(fields[2]),
      remoteAddress: addressOf(fields[2]),
      bytesWaiting: Number.parseInt(fields[4] ?? '', 16),
    }));
}

/** Linux writes the four bytes in the byte order of the machine. */
function addressOf(address = ''): string {
  const bytes = address.slice(0, address.indexOf(':')).match(/../g) ?? [];
  return bytes
    .map((byte) => Number.parseInt(byte, 16))
    .reverse()
    .join('.');
}

function portOf(address = ''): number {
  return Number.parseInt(address.slice(address.indexOf(':') + 1), 16);
}

/** The inodes of the sockets of a process. */
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

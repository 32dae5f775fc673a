import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** In `/proc/net/tcp`, a connection that neither side has ended. */
const established = '01';

/**
 * The local ports from which a process is connected to a port of this machine, where the other side has not hung up; as
 * Linux tells it.
 */
export function connectionsOf(port: number, pid: number): string[] {
  const sockets = socketsOf(pid);
  const remote = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const lines = readFileSync('/proc/net/tcp', 'latin1').trim().split('\n').slice(1);
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[2]?.endsWith(remote) && fields[3] === established && sockets.has(fields[9]))
    .map((fields) => fields[1] as string);
}

/** By their inodes. */
function socketsOf(pid: number): ReadonlySet<string | undefined> {
  const folder = `/proc/${pid}/fd`;
  const inodes = readdirSync(folder).map((name) => {
    try {
      return /^socket:\[(\d+)\]$/.exec(readlinkSync(`${folder}/${name}`))?.[1];
    } catch {
      return undefined;
    }
  });
  return new Set(inodes);
}

import type { Space } from '../../engine.ts';

/** The keys of leaves, as strings whose characters each stand for one byte, so that string order is byte order. */

/** The UTF-8 bytes of an id, one character for each, so that string order is byte order. */
export function bytesOf(id: string): string {
  return Buffer.from(id).toString('latin1');
}

/** Space names have no control characters, so the keys of two spaces never mix in the order. */
export function leafKey(space: Space, idBytes: string): string {
  return `${space}\0${idBytes}`;
}

/** The space of the leaf with this key. */
export function spaceOf(key: string): Space {
  const [name = ''] = key.split('\0', 1);
  return (name.endsWith('\x01') ? name.slice(0, -1) : name) as Space;
}

/** Before every key of every space. */
export const firstKey = '\x01';

export function lastLeafKey(space: Space): string {
  return `${space}\x01`;
}

/** After every key of the space. */
export function endKey(space: Space): string {
  return `${space}\x02`;
}

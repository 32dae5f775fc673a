import type { FastifyRequest } from 'fastify';

/** For whom a request writes to a table: its key or administrator, with all connections; without either, its address. */
export function writerOf({ caller, countedAddress }: FastifyRequest): string {
  return caller.id === '' ? `address:${countedAddress}` : caller.id;
}

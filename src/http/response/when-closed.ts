import type { ServerResponse } from 'node:http';

/**
 * Calls `listener` once the response is closed: sent as a whole, or cut off. At once if its connection has closed already, as it may
 * while a request waits: the event does not come again.
 */
export function whenClosed(response: ServerResponse, listener: () => void): void {
  if (response.destroyed) listener();
  else response.once('close', listener);
}

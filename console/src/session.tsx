import type { Operator } from '@counterfoil/client/operator';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Calls } from './calls.ts';
import type { Session } from './service.ts';

export interface Connection {
  readonly session: Session;
  readonly client: Operator;
  readonly calls: Calls;
  /** Ends the session in this page and at the service. */
  readonly leave: () => void;
}

const Context = createContext<Connection | undefined>(undefined);
export const ConnectionProvider = Context.Provider;

export function useConnection(): Connection {
  const connection = useContext(Context);
  if (connection === undefined) throw new Error('there is no session');
  return connection;
}

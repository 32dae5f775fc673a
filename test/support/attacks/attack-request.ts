export interface AttackKeys {
  /** Every page of the shop contains it. */
  readonly publishable: string;
  readonly honest: string;
  /** May read and write tables; an attacker has it. */
  readonly stolen: string;
}

/** The instructions for a process of attackers. */
export interface AttackRequest {
  readonly attacks: readonly string[];
  /** The service itself, or a proxy in front of it. */
  readonly origin: string;
  readonly keys: AttackKeys;
  /** The number of sockets of attacks that only hold them open. */
  readonly sockets: number;
  /** The pause after each request of attacks that send many, so that they do not saturate the machine. */
  readonly pauseMs?: number;
}

/** The number of responses by attack and status, or `none`. */
export type AttackReport = Readonly<Record<string, number>>;

/** The source addresses of the attacks: one each, so that a connection can be assigned to its attack. */
export const attackAddresses = {
  resets: '127.0.66.1',
  'worst texts': '127.0.66.2',
  'stalled readers': '127.0.66.3',
  'slow requests': '127.0.66.4',
  'large bodies without an end': '127.0.66.5',
  'card testing': '127.0.66.6',
  'a log flood': '127.0.66.7',
  'readers of one response': '127.0.66.8',
} as const;
export type AttackName = keyof typeof attackAddresses;

/** One running attack. */
export interface Attacking extends AttackRequest {
  readonly address: string;
  readonly signal: AbortSignal;
  /** Counts a response. */
  readonly note: (status: number | 'none') => void;
}

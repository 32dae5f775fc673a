export interface AttackKeys {
  /** What every page of the shop shows. */
  readonly publishable: string;
  readonly honest: string;
  /** May read and write tables; an attacker has it. */
  readonly stolen: string;
}

/** What a process of attackers is to do. */
export interface AttackRequest {
  readonly attacks: readonly string[];
  /** Where: the service itself, or a proxy in front of it. */
  readonly origin: string;
  readonly keys: AttackKeys;
  /** Sockets of attacks that only hold them. */
  readonly sockets: number;
  /** After each request of attacks that send one after the other: what saturates the machine says nothing of the service. */
  readonly pauseMs?: number;
}

/** Responses by what they were: a status, or `none`. */
export type AttackReport = Readonly<Record<string, number>>;

/** Where the attackers of one kind come from: one address each, so that it is known whose a connection is. */
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

/** One attack, as it is carried out. */
export interface Attacking extends AttackRequest {
  readonly address: string;
  readonly signal: AbortSignal;
  /** Counts a response. */
  readonly note: (status: number | 'none') => void;
}

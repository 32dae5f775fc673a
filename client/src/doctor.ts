import type { Http } from './http.ts';
import { sendAgain } from './retry.ts';
import type { CallOptions } from './tables.ts';

export interface DoctorCheck {
  /** What was checked: `disk`, `processor stripe` … */
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'problem';
  readonly message: string;
  /** What to do; null if there is nothing to do. */
  readonly action: string | null;
}

export interface MasterKey {
  /** The id of the key, which reveals nothing about the key. */
  readonly id: string;
  /** Whether the key encrypts what is stored now. */
  readonly is_writing: boolean;
  readonly state: 'sealing' | 'retiring' | 'retired' | 'unused';
  /** When the key entered this state; null if it is `unused`. */
  readonly since: string | null;
  /** How many secrets the key encrypts. */
  readonly secrets: number;
}

export interface DoctorReport {
  /** The status of the worst check. */
  readonly status: DoctorCheck['status'];
  readonly checked_at: string;
  readonly checks: readonly DoctorCheck[];
  readonly master_keys: readonly MasterKey[];
}

/**
 * Examines the running service. This calls the processors and the target of the backups, and takes at most some
 * seconds.
 */
export async function doctor(http: Http, { signal }: CallOptions = {}): Promise<DoctorReport> {
  return (await sendAgain<DoctorReport>(http, { method: 'GET', path: '/v3/doctor', signal })).body;
}

/** The result of a check. */
export interface Finding {
  /** What was checked: `disk`, `processor stripe` … */
  readonly check: string;
  /** A warning needs no haste: `counterfoil doctor` exits with 0. */
  readonly status: 'ok' | 'warning' | 'problem';
  /** What was found, as the rest of a sentence; empty if the check says it all. */
  readonly message: string;
  /** What to do; undefined if there is nothing to do. */
  readonly action?: string | undefined;
}

export function ok(check: string, message = '', action?: string): Finding {
  return { check, status: 'ok', message, action };
}

export function warning(check: string, message: string, action: string): Finding {
  return { check, status: 'warning', message, action };
}

export function problem(check: string, message: string, action?: string): Finding {
  return { check, status: 'problem', message, action };
}

/** The worst status of all findings. */
export function worstStatus(findings: readonly Finding[]): Finding['status'] {
  const statuses = new Set(findings.map(({ status }) => status));
  if (statuses.has('problem')) return 'problem';
  return statuses.has('warning') ? 'warning' : 'ok';
}

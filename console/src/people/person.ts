/** A user, as `GET /v3/users` returns it. */
export interface User {
  readonly id: string;
  readonly issuer: string;
  readonly subject: string;
  readonly provider: string;
  /** From the last sign-in. */
  readonly integration: string;
  readonly name?: string;
  readonly email?: string;
  readonly first_sign_in_at: string;
  readonly last_sign_in_at: string;
}

/** A session of a user, as `GET /v3/sessions` returns it. */
export interface PersonSession {
  readonly id: string;
  readonly user: string;
  readonly provider: string;
  readonly integration: string;
  readonly created_at: string;
  readonly last_seen_at: string;
}

export function nameOf({ name, email, subject }: User): string {
  return name ?? email ?? subject;
}

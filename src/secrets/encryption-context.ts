/** Where a secret belongs. The seal is bound to its place: a seal moved to another place does not open. */
export interface EncryptionContext {
  /** The kind of record, for instance `integration` or `payment`. */
  readonly record: string;
  /** The record's own name, for instance `google/web`. */
  readonly name: string;
  readonly field: string;
  /**
   * The secret is erased when its charge ends, usually within seconds, so its seal may share a data key. A seal that
   * shares one opens only in such a place: a shared data key that leaks makes no client secret and no signing key.
   */
  readonly isEphemeral?: true;
}

export interface EphemeralContext extends EncryptionContext {
  readonly isEphemeral: true;
}

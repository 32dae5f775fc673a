/** Who may create a table: any caller by its first `create` (`open`), or only the settings (`declared`). */
export interface TablePolicy {
  readonly tables: 'open' | 'declared';
  /** Under `declared`, all tables; each exists, empty, before its first item. */
  readonly declared: readonly string[];
}

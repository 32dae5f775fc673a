/** What was responded to a request, to the byte. */
export interface StoredAnswer {
  readonly status: number;
  readonly text: string;
}

/** What was responded to a request, to the byte. */
export interface StoredResponse {
  readonly status: number;
  readonly text: string;
}

/** The exact response to a request. */
export interface StoredResponse {
  readonly status: number;
  readonly text: string;
}

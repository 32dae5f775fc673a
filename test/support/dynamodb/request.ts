/** A request of DynamoDB's API. */
export interface DynamoRequest {
  readonly operation: string;
  // biome-ignore lint/suspicious/noExplicitAny: each operation has a shape of its own
  readonly body: any;
}

export interface DynamoReply {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: each operation has a shape of its own
  readonly body: any;
}

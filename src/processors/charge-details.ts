/** What the shop and the cardholder see of a charge at the processor. An adapter leaves out what its processor cannot take. */
export interface ChargeDetails {
  readonly metadata?: Readonly<Record<string, string>>;
  readonly description?: string;
  readonly statementDescriptorSuffix?: string;
  /** The processor sends its receipt to this address. */
  readonly receiptEmail?: string;
}

/** The fields of a request that a processor may reject. */
export type ChargeParam =
  | 'amount'
  | 'currency'
  | 'token'
  | 'metadata'
  | 'description'
  | 'statement_descriptor_suffix'
  | 'receipt_email';

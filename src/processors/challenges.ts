/**
 * The port to the bank of a simulated processor, whose page this service serves itself. A real bank has its own page.
 */
export interface Challenges {
  /** Undefined if there is no challenge with this id. */
  find(id: string): Promise<Challenge | undefined>;
  /**
   * Records what the cardholder decided, unless the challenge has ended: the first decision, or the cancellation, counts.
   *
   * @returns the challenge afterwards; undefined if there is none with this id
   */
  decide(id: string, isApproved: boolean): Promise<Challenge | undefined>;
}

export interface Challenge {
  readonly amount: number;
  readonly currency: string;
  readonly returnUrl: string;
  readonly isOpen: boolean;
}

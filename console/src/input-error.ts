/** An error in what the reader has entered. The message says what is needed. */
export class InputError extends Error {}

/** What the reader gave is not what is needed; the message says what is. */
export class InputError extends Error {}

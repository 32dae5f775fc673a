import { hash } from 'node:crypto';
import { randomBytes } from '../random.ts';

/** 256 bits cannot be guessed and never repeat. */
const bytes = 32;

/** A new secret: 43 characters of base64url. */
export function randomText(): string {
  return randomBytes(bytes).toString('base64url');
}

/** The digest of a secret. The store has only digests, so that its reader cannot sign in with them. */
export function digest(text: string): string {
  return hash('sha256', text, 'base64url');
}

import { hash } from 'node:crypto';
import { randomBytes } from '../random.ts';

/** 256 bits: nobody guesses one, and no two are ever the same. */
const bytes = 32;

/** What only its holder knows: 43 characters of base64url. */
export function randomText(): string {
  return randomBytes(bytes).toString('base64url');
}

/** Stands for such a text in the store: whoever reads the store learns nothing to sign in with. */
export function digestOf(text: string): string {
  return hash('sha256', text, 'base64url');
}

import { hash } from 'node:crypto';
import { invalidRequest } from '../../errors.ts';
import type { EntityTags } from '../../tables/entity-tags.ts';
import { contentCodings } from './content-negotiation.ts';

/** A list of entity tags, each strong or weak (RFC 9110, 8.8.3), or `*`. */
const listPattern = /^\s*(?:\*|(?:W\/)?"[\x21\x23-\x7e]*"(?:\s*,\s*(?:W\/)?"[\x21\x23-\x7e]*")*)\s*$/;

/**
 * The tags of `If-Match`. The comparison is strong, so that a weak tag matches nothing. Undefined without the header. Throws
 * `invalid_request` if the value is not a list of tags: ignoring the condition could overwrite the item that it protects.
 */
export function ifMatch(header: string | undefined): EntityTags | undefined {
  if (header === undefined) return undefined;
  if (!listPattern.test(header)) {
    throw invalidRequest(
      'If-Match',
      'If-Match must be "*" or entity tags in double quotes, as in the ETag header.',
    );
  }
  if (header.trim() === '*') return 'any';
  return Array.from(header.matchAll(/(W\/)?"([^"]*)"/g)).flatMap(([, weak, tag = '']) =>
    weak === undefined ? [tag] : [],
  );
}

/**
 * Whether `If-None-Match` matches. The comparison is weak and includes the tags of the compressed responses. An invalid value
 * matches nothing, so that the full response is sent.
 */
export function isUnchanged(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*' || header.includes(`"${tag}"`)) return true;
  return contentCodings.some((coding) => header.includes(`"${tag}-${coding}"`));
}

/** The entity tag of a text, without its quotes. */
export function contentTag(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 22);
}

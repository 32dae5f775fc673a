import { ServiceError } from '../../errors.ts';
import type { EntityTags } from '../../tables/entity-tags.ts';
import { contentCodings } from './content-coding.ts';

/** A list of entity tags, each perhaps weak (RFC 9110, 8.8.3), or `*`. */
const listPattern = /^\s*(?:\*|(?:W\/)?"[\x21\x23-\x7e]*"(?:\s*,\s*(?:W\/)?"[\x21\x23-\x7e]*")*)\s*$/;

/**
 * `If-Match`: compared strongly, so that a weak tag matches nothing. Undefined without the header. Refuses a value
 * that is no list of tags: to overlook a condition would be to overwrite what it guards.
 */
export function ifMatch(header: string | undefined): EntityTags | undefined {
  if (header === undefined) return undefined;
  if (!listPattern.test(header)) {
    throw new ServiceError('invalid_request', {
      param: 'If-Match',
      message: 'If-Match must be "*" or entity tags in double quotes, as ETag tells them.',
    });
  }
  if (header.trim() === '*') return 'any';
  return Array.from(header.matchAll(/(W\/)?"([^"]*)"/g)).flatMap(([, weak, tag = '']) =>
    weak === undefined ? [tag] : [],
  );
}

/**
 * `If-None-Match`: compared weakly, and with the tags of the compressed answers. What is no list of tags is
 * overlooked, which only costs an answer.
 */
export function isUnchanged(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*' || header.includes(`"${tag}"`)) return true;
  return contentCodings.some((coding) => header.includes(`"${tag}-${coding}"`));
}

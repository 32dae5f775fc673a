import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isUserKey, userKey } from '../../src/sign-in/types.ts';

test('every user has a unique id, which a command line does not parse as an option', () => {
  const subjects = Array.from({ length: 10_000 }, (_, n) => `user-${n}`);
  const ids = subjects.map((subject) => userKey({ issuer: 'https://id.example.com', subject }));
  assert.equal(new Set(ids).size, subjects.length);
  for (const id of ids) assert.ok(isUserKey(id) && !id.startsWith('-'), id);
  assert.ok(!isUserKey(`-${ids[0]?.slice(1)}`));
});

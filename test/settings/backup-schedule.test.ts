import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openSchedule } from '../../src/app/backups/schedule.ts';

const hour = 3_600_000;
const now = Date.UTC(2026, 4, 3, 12, 30);

test('a backup is due when a time of the schedule has passed since the last one', () => {
  const hourly = openSchedule('0 * * * *');
  assert.ok(hourly.isDue(undefined, now));
  assert.ok(hourly.isDue(now - hour, now));
  assert.ok(!hourly.isDue(now - hour / 4, now));
});

test('a backup that was made while the clock was ahead does not stop later ones', () => {
  const hourly = openSchedule('0 * * * *');
  assert.ok(hourly.isDue(now + 30 * 24 * hour, now));
  assert.ok(!hourly.isDue(now + 1_000, now), 'clocks differ by some seconds');
});

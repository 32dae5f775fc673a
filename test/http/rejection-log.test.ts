import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countedAddress } from '../../src/addresses.ts';
import {
  RejectionLog,
  rejectionLinesPerSecondMax,
  rejectionsCountedMax,
} from '../../src/http/server/rejection-log.ts';
import type { Log, LogFields } from '../../src/log.ts';

const fields = () => ({ status: 404 }) as const;

test('writes few lines for more addresses than it tracks, and counts every rejection', () => {
  const { log, lines } = collected();
  const rejections = new RejectionLog(log);
  const addresses = rejectionsCountedMax + 5_000;
  const began = performance.now();
  for (let round = 0; round < 2; round++)
    for (let n = 0; n < addresses; n++)
      rejections.note('route_not_found', caller(`10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`), fields);
  const seconds = Math.ceil((performance.now() - began) / 1_000);
  rejections.flush();
  // One more line a second, and one at the end, has the total of the omitted lines of all addresses.
  const linesMax = (seconds + 1) * (rejectionLinesPerSecondMax + 1);
  assert.ok(lines.length <= linesMax, `${lines.length} lines in ${seconds} s`);
  assert.equal(counted(lines), 2 * addresses);
});

test('counts one IPv6 subscriber as one address', () => {
  const { log, lines } = collected();
  const rejections = new RejectionLog(log);
  for (let n = 0; n < 1_000; n++)
    rejections.note('route_not_found', caller(`2001:db8::${n.toString(16)}`), fields);
  rejections.flush();
  assert.ok(lines.length <= 4, `${lines.length} lines`);
  assert.equal(counted(lines), 1_000);
});

function caller(address: string) {
  return { address, countedAddress: countedAddress(address) };
}

function collected() {
  const lines: LogFields[] = [];
  const note = (_message: string, line: LogFields = {}) => void lines.push(line);
  return { lines, log: { info: note, warn: note, error: note } as unknown as Log };
}

function counted(lines: readonly LogFields[]): number {
  return lines.reduce((sum, { left_out }) => sum + 1 + Number(left_out ?? 0), 0);
}

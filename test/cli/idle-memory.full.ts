import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { platform } from 'node:os';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { givenUpMs } from '../support/busy-machine.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';

const linux = platform() === 'linux' ? {} : { skip: 'needs /proc' };
const megabytesMin = 12;

for (const workers of [1, 2]) {
  const name = workers === 1 ? 'a service' : 'each worker of a service';
  test(`${name} gives back what its start has taken, once it is idle`, linux, async (t) => {
    const service = await ServeProcess.start(t, { data: newData(t), workers });
    const serving = workers === 1 ? service.pids : service.pids.slice(1);
    assert.equal(serving.length, workers);
    const until = performance.now() + givenUpMs;
    const given = () => serving.map(givenBackMegabytes);
    while (Math.min(...given()) < megabytesMin && performance.now() < until) await sleep(100);
    assert.ok(Math.min(...given()) >= megabytesMin, `${given()} MB given back`);
    const response = await fetch(`${await service.ready()}/livez`);
    assert.equal(response.status, 200);
  });
}

/** The highest resident memory so far less that of now. On a busy machine, the start is long over when a test first looks. */
function givenBackMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kilobytes = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]);
  return Math.round((kilobytes('VmHWM') - kilobytes('VmRSS')) / 1_000);
}

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { platform } from 'node:os';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { givenUpMs } from '../support/busy-machine.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';

const linux = platform() === 'linux' ? {} : { skip: 'needs /proc' };
const givenBackMegabytes = 12;

for (const workers of [1, 2]) {
  const name = workers === 1 ? 'a service' : 'each worker of a service';
  test(`${name} gives back what its start has taken, once it is idle`, linux, async (t) => {
    const service = await ServeProcess.start(t, { data: newData(t), workers });
    const serving = workers === 1 ? service.pids : service.pids.slice(1);
    assert.equal(serving.length, workers);
    const before = serving.map(anonymousMegabytes);
    const until = performance.now() + givenUpMs;
    const isGivenBack = () =>
      serving.every((pid, index) => anonymousMegabytes(pid) <= (before[index] ?? 0) - givenBackMegabytes);
    while (!isGivenBack() && performance.now() < until) await sleep(100);
    assert.ok(isGivenBack(), `${before} MB at first, now ${serving.map(anonymousMegabytes)}`);
    const response = await fetch(`${await service.ready()}/livez`);
    assert.equal(response.status, 200);
  });
}

function anonymousMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_000);
}

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gatherFromWorkers } from '../../src/cli/worker-metrics.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { Scraped } from '../support/metrics.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';

const unrouted = { route: 'none', method: 'GET', status: '404' };
const requests = 'counterfoil_http_requests_total';

test('a scrape of any worker includes every worker, and one that has died', async (t) => {
  const service = await ServeProcess.start(t, { data: newData(t), simulate: true, workers: 3 });
  const origin = await service.ready();
  // Each request has its own connection, so that the kernel can give it to any worker.
  const get = async (path: string) => {
    const response = await fetch(origin + path, { headers: { connection: 'close' } });
    return { status: response.status, text: await response.text() };
  };
  const scrape = async () => {
    const { status, text } = await get('/metrics');
    assert.equal(status, 200, text);
    return new Scraped(text);
  };
  const sent = 30;
  for (let n = 0; n < sent; n++) assert.equal((await get(`/nowhere-${n}`)).status, 404);
  for (let n = 0; n < 9; n++) {
    const scraped = await scrape();
    assert.equal(scraped.sum(requests, unrouted), sent);
    assert.equal(scraped.sum('counterfoil_processes'), 3);
    assert.ok(scraped.sum('counterfoil_charges_open') === 0);
  }

  const [first] = workersOf(service.pid);
  process.kill(first as number, 'SIGKILL');
  const giveUpAt = Date.now() + givenUpMs;
  for (let processes = 0; processes < 3 || workersOf(service.pid).includes(first as number); ) {
    // A connection of the dying worker gets no response.
    const scraped = await scrape().catch(() => undefined);
    if (scraped !== undefined) {
      assert.equal(scraped.sum(requests, unrouted), sent, 'the counts of the dead worker are kept');
      processes = scraped.sum('counterfoil_processes');
    }
    assert.ok(Date.now() < giveUpAt, 'the dead worker was not replaced');
    await sleep(20);
  }
  assert.equal((await scrape()).sum(requests, unrouted), sent);
});

test('a scrape fails when the other workers do not respond, because a part would make counters decrease', async () => {
  // This process was not started as a worker, so no response comes.
  await assert.rejects(gatherFromWorkers(() => [])(), { code: 'unavailable' });
});

function workersOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
}

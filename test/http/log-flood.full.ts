import assert from 'node:assert/strict';
import { Agent, get } from 'node:http';
import { platform } from 'node:os';
import { test } from 'node:test';
import { RawConnection, requestText } from '../support/http/raw-http.ts';
import { startTestService, type TestService } from '../support/service.ts';

const requests = 5_000;
const pipelined = 100;
/** The most lines for one code and address. At one a second there would be a handful. */
const linesMax = 100;
const linux = platform() === 'linux' ? {} : { skip: 'needs 127.0.0.2' };

interface Line {
  readonly code?: string;
  readonly status?: number;
  /** How many lines of the same kind were omitted since the last one. */
  readonly left_out?: number;
}

test('writes few lines for many rejected requests of one address, and how many it omitted', async (t) => {
  const service = await startTestService(t);
  await flood(service, 'GET /nothing', 404);
  await service.stop();
  const lines = linesOf(service, 'route_not_found');
  assert.ok(lines.length >= 1 && lines.length <= linesMax, `${lines.length} lines for ${requests} requests`);
  const leftOut = lines.reduce((sum, { left_out = 0 }) => sum + left_out, 0);
  assert.equal(lines.length + leftOut, requests, 'every request is counted');
});

test('writes few lines for many invalid requests', async (t) => {
  const service = await startTestService(t);
  await flood(service, 'GET /v3/table/books/read?limit=none', 400);
  await flood(service, 'PATCH /livez', 405);
  await service.stop();
  for (const code of ['invalid_request', 'method_not_allowed']) {
    const { length } = linesOf(service, code);
    assert.ok(length >= 1 && length <= linesMax, `${length} lines of ${code}`);
  }
});

test('during a flood, writes a line for another code and for another address', linux, async (t) => {
  const service = await startTestService(t);
  const flooding = flood(service, 'GET /nothing', 404);
  const { status } = await service.get('/v3/table/none/read');
  assert.equal(status, 404);
  await flooding;
  const before = linesOf(service, 'route_not_found').length;
  await getFrom('127.0.0.2', `${service.origin}/nothing`);
  assert.equal(linesOf(service, 'table_not_found').length, 1, 'another code');
  assert.equal(linesOf(service, 'route_not_found').length, before + 1, 'another address');
});

async function flood({ origin }: TestService, line: string, status: number): Promise<void> {
  const connection = await RawConnection.open(origin);
  for (let sent = 0; sent < requests; sent += pipelined) {
    connection.send(requestText(origin, line).repeat(pipelined));
    for (let n = 0; n < pipelined; n++) assert.equal((await connection.response()).status, status);
  }
  connection.close();
}

function linesOf(service: TestService, code: string): Line[] {
  const lines = service.logged().split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Line).filter((line) => line.code === code);
}

function getFrom(localAddress: string, url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const agent = new Agent();
    const asked = get(url, { agent, localAddress }, (response) => {
      response.resume().once('end', () => resolve());
    });
    asked.once('error', reject);
  });
}

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { stopGraceMs } from '../../src/lifecycle.ts';
import { busyMachineMs, givenUpMs } from '../support/busy-machine.ts';
import { create, payment } from '../support/http/documented-operations.ts';
import { assertError } from '../support/http/error-response.ts';
import { RawConnection, requestText } from '../support/http/raw-http.ts';
import { startTestService, type TestService } from '../support/service.ts';

const json = { 'Content-Type': 'application/json' };

// Concurrent, because the last test takes the whole grace period.
suite('a graceful shutdown', { concurrency: true }, () => {
  test('finishes running requests and accepts no new ones', async (t) => {
    const service = await startTestService(t);
    const request = JSON.stringify({ ...payment.body, token: 'tok_slow' });
    const paying = await RawConnection.open(service.origin);
    paying.send(requestText(service.origin, `POST ${payment.path}`, json, request));
    const idle = await RawConnection.open(service.origin);
    const incomplete = await RawConnection.open(service.origin);
    incomplete.send(requestText(service.origin, 'GET /readyz').slice(0, -2));
    await charging(service);
    // Nothing shows that the incomplete request has arrived too.
    await sleep(50);

    const began = performance.now();
    const stopped = service.stop();
    incomplete.send('\r\n');
    const unready = await incomplete.response();
    assertError(unready, { status: 503, code: 'unavailable' });
    assert.equal(unready.headers.get('connection'), 'close');
    assert.ok(await idle.ends(), 'an idle connection is closed');
    await assert.rejects(RawConnection.open(service.origin), { code: 'ECONNREFUSED' });

    const paid = await paying.response();
    assert.ok(performance.now() - began > 1_000, 'the payment was running when the shutdown began');
    assert.equal(paid.status, 200);
    assert.equal(paid.json.body.message.message, 'Payment successful!');
    await stopped;
    assert.ok(performance.now() - began < stopGraceMs, 'the shutdown ends with the last request');

    const again = await startTestService(t, { data: service.data });
    const found = await again.get(paid.headers.get('location') ?? '');
    await again.stop();
    assert.equal(found.json.body.status, 'succeeded');
  });

  test('finishes a running payment whose client has disconnected', async (t) => {
    const service = await startTestService(t);
    const request = JSON.stringify({ ...payment.body, token: 'tok_slow' });
    const gone = await RawConnection.open(service.origin);
    gone.send(requestText(service.origin, `POST ${payment.path}`, json, request));
    await charging(service);
    gone.close();
    // Nothing shows that the service has noticed it.
    await sleep(50);
    await service.stop();
    assert.match(service.logged(), /"state":"succeeded"/, 'the outcome of the charge is recorded');
  });

  test('ends within 10 s although a client never finishes its request', async (t) => {
    const service = await startTestService(t);
    const stuck = await RawConnection.open(service.origin);
    const head = { ...json, 'Content-Length': '100', Expect: '100-continue' };
    stuck.send(requestText(service.origin, `POST ${create.path}`, head));
    await stuck.continued();
    const began = performance.now();
    await service.stop();
    assert.ok(performance.now() - began < stopGraceMs + busyMachineMs, 'the shutdown ended in time');
    assert.equal((await stuck.response()).status, 408, 'the client gets a response');
  });
});

/** Waits until a charge is at the processor. */
async function charging(service: TestService): Promise<void> {
  for (
    const giveUpAt = Date.now() + givenUpMs;
    (await service.get(payment.path)).json.body.length === 0;
    await sleep(10)
  )
    assert.ok(Date.now() < giveUpAt);
}

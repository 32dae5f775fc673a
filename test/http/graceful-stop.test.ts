import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { stopGraceMs } from '../../src/lifecycle.ts';
import { busyMachineMs } from '../support/busy-machine.ts';
import { create, payment } from '../support/http/documented-operations.ts';
import { assertError } from '../support/http/error-response.ts';
import { RawConnection, requestText } from '../support/http/raw-http.ts';
import { startTestService } from '../support/service.ts';

const json = { 'Content-Type': 'application/json' };

// Side by side, for the last one lasts as long as the grace period of a stop.
suite('a stop of the service', { concurrency: true }, () => {
  test('finishes what runs and takes nothing new', async (t) => {
    const service = await startTestService(t);
    const request = JSON.stringify({ ...payment.body, token: 'tok_slow' });
    const paying = await RawConnection.open(service.origin);
    paying.send(requestText(service.origin, `POST ${payment.path}`, json, request));
    const idle = await RawConnection.open(service.origin);
    const asking = await RawConnection.open(service.origin);
    asking.send(requestText(service.origin, 'GET /readyz').slice(0, -2));
    await sleep(200);

    const began = performance.now();
    const stopped = service.stop();
    asking.send('\r\n');
    const unready = await asking.answer();
    assertError(unready, { status: 503, code: 'unavailable' });
    assert.equal(unready.headers.get('connection'), 'close');
    assert.ok(await idle.ends(), 'a connection without a request is ended');
    await assert.rejects(RawConnection.open(service.origin), { code: 'ECONNREFUSED' });

    const paid = await paying.answer();
    assert.ok(performance.now() - began > 1_000, 'the payment ran when the service was stopped');
    assert.equal(paid.status, 200);
    assert.equal(paid.json.body.message.message, 'Payment successful!');
    await stopped;
    assert.ok(performance.now() - began < 5_000, 'the stop does not outlast what ran');

    const again = await startTestService(t, { data: service.data });
    const told = await again.get(paid.headers.get('location') ?? '');
    await again.stop();
    assert.equal(told.json.body.status, 'succeeded');
  });

  test('finishes a payment that runs though its caller has hung up', async (t) => {
    const service = await startTestService(t);
    const request = JSON.stringify({ ...payment.body, token: 'tok_slow' });
    const gone = await RawConnection.open(service.origin);
    gone.send(requestText(service.origin, `POST ${payment.path}`, json, request));
    await sleep(200);
    gone.close();
    await sleep(100);
    await service.stop();
    assert.match(service.logged(), /"state":"succeeded"/, 'the charge that was made is settled');
  });

  test('stops within 10 s though a caller never finishes its request', async (t) => {
    const service = await startTestService(t);
    const stuck = await RawConnection.open(service.origin);
    stuck.send(requestText(service.origin, `POST ${create.path}`, { ...json, 'Content-Length': '100' }));
    await sleep(100);
    const began = performance.now();
    await service.stop();
    assert.ok(performance.now() - began < stopGraceMs + busyMachineMs, 'the stop came in time');
    assert.equal((await stuck.answer()).status, 408, 'it is told why');
  });
});

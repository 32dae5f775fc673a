import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { userKey } from '../../src/sign-in/types.ts';
import type { Engine, Write } from '../../src/storage/engine.ts';
import { openWindow } from '../support/console/page.ts';
import { newDataFolder, openStoreOf, startTestService } from '../support/service.ts';

const count = 1_050;

test('shows people page by page as they are scrolled to, and jumps to an id', async (t) => {
  const data = newDataFolder(t);
  const engine = await openStoreOf(data);
  const ids = (await storePeople(engine)).toSorted();
  await engine.close();
  const { origin } = await startTestService(t, { data });
  const { openPage } = await openWindow(t, origin);
  const page = await openPage();
  const asked: string[] = [];
  page.on('request', (request) => {
    if (request.url().includes('/v3/users')) asked.push(request.url());
  });
  await page.goto(`${origin}/console/people`);
  const list = page.getByRole('table', { name: 'People' });
  await list.getByText(ids[0] as string).waitFor();
  await page.getByText('300 people loaded').waitFor();
  assert.ok(asked.length <= 4, `${asked.length} requests for what is seen, and not for everybody`);
  const toTheEnd = () => page.evaluate(`document.querySelector('.people .scroller').scrollTo(0, 1e6)`);
  const everybody = page.getByText(`${count.toLocaleString('en')} people loaded`);
  while (!(await everybody.isVisible())) {
    await toTheEnd();
    await sleep(50);
  }
  await toTheEnd();
  await list.getByText(ids.at(-1) as string).waitFor();

  const [wanted, next] = [ids[500] as string, ids[501] as string];
  await page.getByLabel('Jump to user id').fill(wanted);
  await page.keyboard.press('Enter');
  await list.getByRole('row').nth(1).getByText(wanted).waitFor();
  await list.getByRole('row').nth(2).getByText(next).waitFor();
  assert.equal(page.url(), `${origin}/console/people?from=${wanted}`);
  // An id that nobody has begins the rows at the one that would follow it.
  await page.getByLabel('Jump to user id').fill(wanted.slice(0, 8));
  await page.keyboard.press('Enter');
  await list.getByRole('row').nth(1).getByText(wanted).waitFor();
});

/** @returns their ids */
async function storePeople(engine: Engine): Promise<readonly string[]> {
  const at = new Date().toISOString();
  const people = Array.from({ length: count }, (_, index) => {
    const who = { issuer: 'https://idp.example', subject: `person-${index}` };
    return {
      id: userKey(who),
      ...who,
      provider: 'oidc',
      integration: 'web',
      firstSignInAt: at,
      lastSignInAt: at,
    };
  });
  for (let first = 0; first < count; first += 50) {
    const writes = people.slice(first, first + 50).map(
      ({ id, ...stored }): Write => ({
        ...{ kind: 'create', space: 'service:users', id, value: JSON.stringify(stored) },
        makeSpace: true,
      }),
    );
    assert.equal(await engine.commit(writes), undefined);
  }
  return people.map(({ id }) => id);
}

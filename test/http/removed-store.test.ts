import assert from 'node:assert/strict';
import { copyFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startTestService } from '../support/service.ts';

const onLmdb = process.env.TEST_STORE === 'dynamodb' ? { skip: 'needs a local file' } : {};
const path = '/v3/table/books/create';

for (const name of ['store.mdb', 'store.mdb-lock']) {
  test(
    `rejects writes and is not ready while ${name} is away or another file, and reads on`,
    onLmdb,
    async (t) => {
      const service = await startTestService(t);
      const file = join(service.data, name);
      assert.equal((await service.post(path, { id: 'before', name: '' })).status, 200);
      const assertRejected = async (why: string) => {
        const { status, json } = await service.post(path, { id: why, name: '' });
        assert.deepEqual([status, json.body.error.code], [503, 'unavailable'], why);
        const ready = await service.get('/readyz');
        assert.deepEqual([ready.status, ready.json.body.failed], [503, ['store_write']], why);
        assert.equal((await service.get('/v3/table/books/read?id=before')).status, 200);
      };

      renameSync(file, `${file}.away`);
      await assertRejected('removed');
      copyFileSync(`${file}.away`, file);
      await assertRejected('replaced');
      rmSync(file);
      renameSync(`${file}.away`, file);
      assert.equal((await service.post(path, { id: 'after', name: '' })).status, 200);
      assert.equal((await service.get('/readyz')).status, 200);
    },
  );
}

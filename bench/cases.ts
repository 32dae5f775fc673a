import type { Case } from './case.ts';
import { backup } from './cases/backup.ts';
import { bulk } from './cases/bulk.ts';
import { bytesWritten } from './cases/bytes-written.ts';
import { charge } from './cases/charge.ts';
import { chargeLatency } from './cases/charge-latency.ts';
import { client } from './cases/client.ts';
import { clientTypes } from './cases/client-types.ts';
import { consoleCase } from './cases/console.ts';
import { create } from './cases/create.ts';
import { curves } from './cases/curves.ts';
import { disk } from './cases/disk.ts';
import { dynamodb } from './cases/dynamodb.ts';
import { keyTiming } from './cases/key-timing.ts';
import { layers } from './cases/layers.ts';
import { memory } from './cases/memory.ts';
import { newConnections } from './cases/new-connections.ts';
import { overload } from './cases/overload.ts';
import { readTen } from './cases/read-10.ts';
import { readTenWithKey } from './cases/read-10-with-key.ts';
import { readAll } from './cases/read-all.ts';
import { recovery } from './cases/recovery.ts';
import { replay } from './cases/replay.ts';
import { requestCosts } from './cases/request-costs.ts';
import { rivals } from './cases/rivals.ts';
import { session } from './cases/session.ts';
import { signIn } from './cases/sign-in.ts';
import { slowReaders } from './cases/slow-readers.ts';
import { start } from './cases/start.ts';
import { startFull } from './cases/start-full.ts';
import { tableSize } from './cases/table-size.ts';
import { unchanged } from './cases/unchanged.ts';
import { update } from './cases/update.ts';

/** All cases, in the order in which they are measured: those that add items to the fixtures come last. */
export const cases: readonly Case[] = [
  readTen,
  readTenWithKey,
  layers,
  requestCosts,
  keyTiming,
  unchanged,
  readAll,
  memory,
  slowReaders,
  create,
  update,
  bulk,
  backup,
  charge,
  chargeLatency,
  overload,
  newConnections,
  replay,
  recovery,
  dynamodb,
  session,
  signIn,
  client,
  clientTypes,
  bytesWritten,
  consoleCase,
  disk,
  start,
  startFull,
  tableSize,
  curves,
  rivals,
];

import { type Static, Type } from 'typebox';
import { requesterFor } from '../../access/permission.ts';
import type { Requester } from '../../audit/audit.ts';
import { named } from '../response/described.ts';
import {
  noBody,
  nullable,
  responseSchema,
  strictObject,
  stringEnum,
  timestamp,
} from '../response/schemas.ts';
import { operation, type Routes, routeFamily } from '../server/operation.ts';

/** Administrators look at the backups here, and make one. @param prefix in front of `/v3` */
export function backupRoutes(backups: BackupOperations, prefix: string): Routes {
  const path = `${prefix}/v3/backups`;
  return routeFamily('Administration', [
    operation('GET', path, 'admin', {
      id: 'readBackups',
      summary: 'Read the state of the backups, and list them',
      response: responseSchema(report, 'As the target has them now, or `problem` after 10 seconds'),
      handle: () => backups.report(),
    }),

    operation('POST', path, 'admin', {
      id: 'makeBackup',
      summary: 'Begin a backup',
      description:
        'It is made in a process of low priority; `readBackups` shows when it is done. `backup_running` while this process ' +
        'of the service makes one.',
      request: { body: noBody, isBodyOptional: true },
      response: responseSchema(strictObject({ running }), 'The backup is being made'),
      handle: async ({ caller, id }) => {
        const since = await backups.make(requesterFor(caller, id));
        return { running: { since: new Date(since).toISOString() } };
      },
    }),
  ]);
}

const running = strictObject({ since: timestamp });

const backup = named(
  'Backup',
  strictObject({
    name: Type.String(),
    state: Type.Unsafe<'good' | 'unusable'>(
      stringEnum(['good', 'unusable'], {
        description:
          '`unusable`: its file is missing or has another size, or its manifest is damaged or of another version of the service',
      }),
    ),
    time: nullable(timestamp),
    position: nullable(Type.Integer({ description: 'The number of the last commit in it' })),
    last_commit_at: nullable(timestamp),
    store_id: nullable(
      Type.String({ description: 'The store that it is of; a restored or copied store has another id' }),
    ),
    items: nullable(Type.Integer({ description: 'Those of the service included' })),
    bytes: nullable(Type.Integer()),
  }),
);

const report = named(
  'BackupReport',
  strictObject({
    store: Type.Unsafe<'lmdb' | 'dynamodb'>(
      stringEnum(['lmdb', 'dynamodb'], { description: 'The service makes backups of `lmdb` only' }),
    ),
    target: nullable(
      Type.String({ description: 'A folder or `s3://bucket/prefix`; null if the settings have none' }),
    ),
    schedule: nullable(Type.String({ description: 'In the syntax of cron' })),
    next_at: nullable(timestamp),
    keep: nullable(Type.Integer({ description: 'How many backups stay' })),
    running: nullable(running),
    newest: nullable(
      strictObject(
        { name: Type.String(), time: timestamp, age_seconds: Type.Integer() },
        { description: 'The newest good backup of this store' },
      ),
    ),
    continuous: nullable(
      strictObject(
        {
          seconds: Type.Integer({ description: 'Between two segments' }),
          position: nullable(Type.Integer({ description: 'The number of the last commit in a segment' })),
          store_position: nullable(Type.Integer({ description: 'The number of the last commit' })),
          lag_seconds: nullable(
            Type.Integer({
              description: 'The age of the first commit that is in no segment; 0 without one',
            }),
          ),
        },
        { description: 'Continuous backup; null if it is off' },
      ),
    ),
    last_failure: nullable(
      strictObject({
        at: timestamp,
        what: Type.Unsafe<'snapshot' | 'continuous'>(stringEnum(['snapshot', 'continuous'])),
        code: Type.String(),
        message: Type.String(),
      }),
    ),
    problem: nullable(Type.String({ description: 'Why the target cannot be listed now' })),
    total: nullable(Type.Integer({ description: 'Backups at the target; null if it cannot be listed' })),
    backups: Type.Array(backup, {
      description:
        'The newest 100 by their commits, newest first, after those that are unusable and before those of other stores',
    }),
  }),
);

export type BackupReport = Static<typeof report>;

export interface BackupOperations {
  report(): Promise<BackupReport>;
  /** Begins a backup. Throws ServiceError. @returns since when it is being made, in milliseconds since 1970 */
  make(requester: Requester): Promise<number>;
}

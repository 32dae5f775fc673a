import { resolve } from 'node:path';
import { FolderTarget } from '../../backup/folder-target.ts';
import type { BackupTarget } from '../../backup/target.ts';
import { SettingsError } from '../../errors.ts';
import type { Settings } from '../../settings/schema.ts';
import { optional } from '../optional.ts';

export type { ArchiveProgress, LastFailure } from '../../storage/lmdb/backup/archive-state.ts';
export {
  backupsByStore,
  backupsIn,
  type DescribedBackups,
  describeBackups,
} from '../../storage/lmdb/backup/catalogue.ts';
export { JournalArchiver, stopArchiving } from '../../storage/lmdb/backup/journal-archiver.ts';
export { makeBackup } from '../../storage/lmdb/backup/make.ts';
export { isBackupName } from '../../storage/lmdb/backup/manifest.ts';
export { claimTarget, settleStoreId, whyRejected } from '../../storage/lmdb/backup/owner.ts';
export { restoreBackup } from '../../storage/lmdb/backup/restore.ts';

/** As `../adapters.ts`, for backups: opens the targets, and names the functions that copy the embedded store to them. */

/** Opens the target that an operator named: a folder, or `s3://bucket/prefix`. Throws SettingsError. */
export async function openTarget({ backup }: Pick<Settings, 'backup'>, place: string): Promise<BackupTarget> {
  if (!/^[a-z][a-z\d+.-]*:\/\//i.test(place)) return new FolderTarget(resolve(place));
  if (!/^s3:\/\/[a-z\d][a-z\d.-]{1,61}[a-z\d](\/[\w!.*'()-]+)*\/?$/.test(place))
    throw new SettingsError([`${place}: is no target; name a folder, or s3://bucket/prefix`]);
  const { S3Target } = await optional(place, () => import('../../backup/s3-target.ts'));
  return new S3Target(place.replace(/\/$/, ''), backup.s3);
}

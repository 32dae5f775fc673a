export type { Backup, BackupReport, Backups } from './backups.ts';
export type { DoctorCheck, DoctorReport, MasterKey } from './doctor.ts';
export type {
  ApiKey,
  ApiKeyKind,
  ApiKeyPage,
  CreateKey,
  Keys,
  ListKeys,
  RotateKey,
  Scope,
  ShownApiKey,
} from './keys.ts';
export { Operator } from './operations.ts';
export type {
  ReconcileCounts,
  ReconcileDifference,
  ReconcileLine,
  ReconcileRequest,
} from './reconciliation.ts';

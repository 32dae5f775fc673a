import { Type } from 'typebox';

/** The settings of backups of the embedded store. */

const closed = { additionalProperties: false };

export const backupSettings = Type.Object(
  {
    target: Type.Optional(
      Type.String({
        env: 'COUNTERFOIL_BACKUP_TARGET',
        minLength: 1,
        description: 'where the service makes backups by itself: a folder, or s3://bucket/prefix',
      }),
    ),
    schedule: Type.String({
      env: 'COUNTERFOIL_BACKUP_SCHEDULE',
      default: '0 3 * * *',
      pattern: '^\\S+( \\S+){4}$|^@[a-z]+$',
      description: 'when the service makes a backup, in the syntax of cron, in the time zone of the process',
    }),
    keep: Type.Integer({
      env: 'COUNTERFOIL_BACKUP_KEEP',
      default: 7,
      minimum: 1,
      maximum: 1_000,
      description: 'how many backups stay; older ones are deleted after the next is good',
    }),
    continuous: Type.Optional(
      Type.Integer({
        env: 'COUNTERFOIL_BACKUP_CONTINUOUS',
        minimum: 1,
        maximum: 3_600,
        description:
          'seconds between segments of continuous backup: what a lost disk costs at most; without it there is none',
      }),
    ),
    s3: Type.Object(
      {
        endpoint: Type.Optional(
          Type.String({
            env: 'COUNTERFOIL_BACKUP_S3_ENDPOINT',
            pattern: '^https?://[^/?#]+$',
            description: 'origin of the S3 API; the default is that of the region, or AWS_ENDPOINT_URL_S3',
          }),
        ),
        region: Type.Optional(
          Type.String({
            env: 'COUNTERFOIL_BACKUP_S3_REGION',
            pattern: '^[a-z0-9-]{1,40}$',
            description:
              'region of the bucket; the default is what the AWS SDK finds (AWS_REGION, a profile)',
          }),
        ),
        pathStyle: Type.Optional(
          Type.Union([Type.Literal('on'), Type.Literal('off')], {
            env: 'COUNTERFOIL_BACKUP_S3_PATH_STYLE',
            description:
              'on or off: whether the bucket is in the path, and not in the host name; the default is on with an endpoint',
          }),
        ),
      },
      { ...closed, default: {}, description: 'targets s3://bucket/prefix' },
    ),
  },
  { ...closed, default: {}, description: 'backups of the embedded store' },
);

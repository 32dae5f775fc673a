import { Type } from 'typebox';

/** The settings of backups of the embedded store. */

const closed = { additionalProperties: false };

export const backupSettings = Type.Object(
  {
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

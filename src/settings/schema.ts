import { type Static, Type } from 'typebox';
import { amountMax } from '../payments/limits.ts';
import { tableNamePattern } from '../table-name.ts';
import { accessSettings } from './access.ts';
import { backupSettings } from './backup.ts';
import { priceSetting } from './price.ts';
import { providerSettings } from './provider-settings.ts';

/** An hour less than the time for which processors are sure to remember a key (`keyLifeMs`). */
const chargeRetrySecondsMax = 22 * 60 * 60;
/** A seat that waits for its buyer longer than this is lost to others. */
const authenticationSecondsMax = 24 * 60 * 60;

/**
 * All settings, as in `counterfoil.json`. The environment variable in `env` also sets a leaf, and overrides the file. So does
 * `<env>_FILE`, the path of a file with the value (as Docker and systemd provide secrets). A leaf with `secret` is read only
 * from there, so that no secret is in a settings file, and `counterfoil config` masks it. For a leaf with `isCommand`,
 * `counterfoil config` shows only the program, because its arguments may hold a secret.
 */
const closed = { additionalProperties: false };
const pathPrefix = '^(/[A-Za-z0-9_.~-]+)*$';
const segment = '^[a-z0-9][a-z0-9_-]*$';
const currency = '^[A-Za-z]{3}$';

const itemSource = (field: 'id' | 'name') =>
  Type.String({
    pattern: '^(payment_id|charge_id|metadata\\.[A-Za-z0-9_.-]{1,40})$',
    description: `what the item has as its ${field}: payment_id, charge_id or metadata.<key>`,
  });
const itemRule = (description: string) =>
  Type.Optional(Type.Union([Type.Literal('keep'), Type.Literal('delete')], { description }));
const paymentRoute = Type.Object(
  {
    unit: Type.Union([Type.Literal('minor'), Type.Literal('major')], {
      default: 'minor',
      description: 'whether an amount is in the smallest unit (1050) or in the currency itself (10.50)',
    }),
    currencies: Type.Optional(
      Type.Array(Type.String({ pattern: currency }), { minItems: 1, description: 'only these are accepted' }),
    ),
    minimum: Type.Optional(
      Type.Integer({ minimum: 1, maximum: amountMax, description: 'lowest amount, in the smallest unit' }),
    ),
    maximum: Type.Optional(
      Type.Integer({ minimum: 1, maximum: amountMax, description: 'highest amount, in the smallest unit' }),
    ),
    price: Type.Optional(priceSetting),
    return_urls: Type.Optional(
      Type.Array(Type.String({ pattern: '^https?://[^/?#@\\s]+$' }), {
        minItems: 1,
        description:
          'origins of the pages to which a cardholder may return from their bank; a publishable key has its own origins',
      }),
    ),
    on_success: Type.Optional(
      Type.Object(
        {
          table: Type.String({ pattern: tableNamePattern, description: 'name of the table' }),
          id: itemSource('id'),
          name: itemSource('name'),
          on_refund: itemRule('keep or delete: what a full refund does to the item'),
          on_dispute: itemRule('keep or delete: what a dispute that takes the money back does to the item'),
        },
        { ...closed, description: 'the item that a successful charge creates in a table' },
      ),
    ),
  },
  closed,
);

export const settingsSchema = Type.Object(
  {
    host: Type.String({
      env: 'HOST',
      default: '127.0.0.1',
      minLength: 1,
      description: 'address to listen on',
    }),
    port: Type.Integer({
      env: 'PORT',
      default: 8080,
      minimum: 0,
      maximum: 65535,
      description: 'port to listen on; 0 selects a free one',
    }),
    data: Type.String({
      env: 'COUNTERFOIL_DATA',
      default: './data',
      minLength: 1,
      description: 'folder of the embedded store',
    }),
    store: Type.Union([Type.Literal('lmdb'), Type.Literal('dynamodb')], {
      env: 'COUNTERFOIL_STORE',
      default: 'lmdb',
      description: 'lmdb: the embedded store in the data folder; dynamodb: Amazon DynamoDB',
    }),
    dynamodb: Type.Object(
      {
        endpoint: Type.Optional(
          Type.String({
            env: 'COUNTERFOIL_DYNAMODB_ENDPOINT',
            pattern: '^https?://[^/?#]+$',
            description: 'origin of the DynamoDB API; the default is that of the region',
          }),
        ),
        region: Type.Optional(
          Type.String({
            env: 'COUNTERFOIL_DYNAMODB_REGION',
            pattern: '^[a-z0-9-]{1,40}$',
            description: 'AWS region; the default is what the AWS SDK finds (AWS_REGION, a profile)',
          }),
        ),
        tablePrefix: Type.String({
          env: 'COUNTERFOIL_DYNAMODB_TABLE_PREFIX',
          default: '',
          pattern: '^[A-Za-z0-9_.-]{0,100}$',
          description: 'prefix of the name of every table',
        }),
      },
      { ...closed, default: {}, description: 'Amazon DynamoDB, for store: dynamodb' },
    ),
    backup: backupSettings,
    basePath: Type.String({
      env: 'COUNTERFOIL_BASE_PATH',
      default: '',
      pattern: pathPrefix,
      description: 'path in front of /v3, for instance /api',
    }),
    publicUrl: Type.Optional(
      Type.String({
        env: 'COUNTERFOIL_PUBLIC_URL',
        pattern: '^https?://[^/?#]+$',
        description:
          'origin under which browsers reach the service; the default is the address it listens on',
      }),
    ),
    ...accessSettings,
    traces: Type.Object(
      {
        endpoint: Type.Optional(
          Type.String({
            env: 'OTEL_EXPORTER_OTLP_ENDPOINT',
            pattern: '^https?://[^?#]+$',
            description:
              'base address of an OpenTelemetry collector for OTLP over HTTP; without it, no traces are sent',
          }),
        ),
      },
      { ...closed, default: {}, description: 'traces of charges' },
    ),
    logLevel: Type.Union(
      ['debug', 'info', 'warn', 'error', 'silent'].map((level) => Type.Literal(level)),
      { env: 'COUNTERFOIL_LOG_LEVEL', default: 'info', description: 'debug, info, warn, error or silent' },
    ),
    masterKeys: Type.Array(Type.String({ pattern: '^[A-Za-z0-9+/]{43}=$' }), {
      env: 'COUNTERFOIL_MASTER_KEY',
      secret: true,
      default: [],
      description:
        '32 random bytes in base64 that encrypt all secrets; during a rotation several, separated by commas, and the ' +
        'first one encrypts; the default is the file <data>.key, which the service creates',
    }),
    masterKeyCommand: Type.Optional(
      Type.String({
        env: 'COUNTERFOIL_MASTER_KEY_COMMAND',
        isCommand: true,
        pattern: '^\\S+( +\\S+)*$',
        description:
          'a program that prints the master keys, and its arguments, separated by spaces; run at start, without a shell',
      }),
    ),
    tables: Type.Object(
      {
        policy: Type.Optional(
          Type.Union([Type.Literal('open'), Type.Literal('declared')], {
            env: 'COUNTERFOIL_TABLES',
            description:
              'open: the first create makes a table; declared: only the tables named in the settings exist. The ' +
              'default is open; on DynamoDB it is declared',
          }),
        ),
        declared: Type.Array(Type.String({ pattern: tableNamePattern }), {
          env: 'COUNTERFOIL_DECLARED_TABLES',
          default: [],
          description: 'names of the declared tables',
        }),
        aliases: Type.Array(Type.String({ pattern: segment }), {
          env: 'COUNTERFOIL_TABLE_ALIASES',
          default: [],
          uniqueItems: true,
          description: 'further path segments that mean "table", for instance dynamodb',
        }),
      },
      { ...closed, default: {}, description: 'who makes tables, and under which paths they are served' },
    ),
    docs: Type.String({
      env: 'COUNTERFOIL_DOCS',
      default: 'on',
      pattern: '^(on|off)$',
      description: 'on or off: whether /docs and /openapi.json are served',
    }),
    console: Type.String({
      env: 'COUNTERFOIL_CONSOLE',
      default: 'on',
      pattern: '^(on|off)$',
      description: 'on or off: whether /console is served',
    }),
    payments: Type.Object(
      {
        basePath: Type.String({
          env: 'COUNTERFOIL_PAYMENT_BASE_PATH',
          default: '',
          pattern: pathPrefix,
          description: 'path in front of /stage',
        }),
        host: Type.Optional(
          Type.String({
            env: 'COUNTERFOIL_PAYMENT_HOST',
            minLength: 1,
            description: 'address of a separate listener for payments',
          }),
        ),
        port: Type.Optional(
          Type.Integer({
            env: 'COUNTERFOIL_PAYMENT_PORT',
            minimum: 0,
            maximum: 65535,
            description:
              'port of a separate listener for payments; the main listener then serves no payments',
          }),
        ),
        retrySeconds: Type.Integer({
          env: 'COUNTERFOIL_CHARGE_RETRY_SECONDS',
          default: 600,
          minimum: 0,
          maximum: chargeRetrySecondsMax,
          description:
            'how long a charge in doubt may still be made after the last request for it; then it is canceled',
        }),
        authenticationSeconds: Type.Integer({
          env: 'COUNTERFOIL_AUTHENTICATION_SECONDS',
          default: 1_800,
          minimum: 60,
          maximum: authenticationSecondsMax,
          description:
            'how long a cardholder may take to authenticate a payment at their bank; then it is canceled',
        }),
        routes: Type.Record(Type.String({ pattern: segment }), paymentRoute, {
          default: { charge: { unit: 'minor' } },
          ...closed,
          minProperties: 1,
          description: 'the final path segments of the payment endpoint, each with its policy (file only)',
        }),
      },
      { ...closed, default: {}, description: 'the payment endpoint' },
    ),
    ...providerSettings,
  },
  closed,
);

export type Settings = Static<typeof settingsSchema>;

import { DynamoDBClient, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb';
import { defined } from '../../defined.ts';
import { SettingsError, TransientError } from '../../errors.ts';
import type {
  Engine,
  Rejection,
  Scan,
  ScanOptions,
  Space,
  SpaceFacts,
  SpaceRemoval,
  Write,
} from '../engine.ts';
import { commitWritesMax } from '../limits.ts';
import { attemptMsMax, type CallBounds, Calls, isCredentialsError } from './calls.ts';
import { Commits } from './commits.ts';
import { isKeyProblem, isMissingTable } from './errors.ts';
import { Layout } from './layout.ts';
import { Scans } from './scans.ts';
import { Spaces, type TableState } from './spaces.ts';

/** Connections of one process. Each carries one request at a time. */
const socketsMax = 256;

export interface DynamoSettings extends CallBounds {
  /** Origin of the API, when it differs from the region's. */
  readonly endpoint?: string | undefined;
  /** The default comes from the SDK's own chain (`AWS_REGION`, a profile). */
  readonly region?: string | undefined;
  /** The beginning of the name of every table. */
  readonly tablePrefix: string;
  /** Tables that belong to the service when there is no prefix to recognize them by. */
  readonly declared: readonly string[];
}

/**
 * The distributed engine: Amazon DynamoDB, or a compatible service with transactions. Any number of processes share it
 * and coordinate by conditional writes.
 *
 * Limits: a scan is consistent pages, not a snapshot (`reads`). The count and version of a whole table are unknown, so
 * tables have no ETag. A rejected commit may leave an empty table behind. When the reply to a *create* is lost and the
 * item is deleted before the retry, the retry creates the item again.
 *
 * Throws SettingsError when the service's own table is missing, or the engine cannot be used with these settings, and
 * TransientError when it cannot be reached now.
 */
export async function openDynamoEngine(settings: DynamoSettings): Promise<Engine> {
  const client = openClient(settings);
  const layout = new Layout(settings.tablePrefix);
  try {
    await probe(new Calls(client, settings), layout.systemTable);
  } catch (error) {
    client.destroy();
    throw await explainFailure(error as Error, client, layout.systemTable);
  }
  return new DynamoEngine(client, layout, settings);
}

/** What `store init` did with a table. */
export interface TableMade {
  readonly table: string;
  readonly state: TableState;
}

/** Creates the service's own table and the declared ones when they are missing. Throws SettingsError, TransientError. */
export async function initDynamo(settings: DynamoSettings): Promise<readonly TableMade[]> {
  const client = openClient(settings);
  const layout = new Layout(settings.tablePrefix);
  const calls = new Calls(client, settings);
  const spaces = new Spaces(calls, layout, settings.declared);
  const tables = settings.declared.map((name) => [layout.tableOf(`table:${name}`) ?? '', ['id']] as const);
  const made: TableMade[] = [];
  try {
    for (const [table, key] of [[layout.systemTable, ['space', 'id']] as const, ...tables])
      made.push({ table, state: await spaces.makeTable(table, key) });
    await probe(calls, layout.systemTable);
  } catch (error) {
    throw await explainFailure(error as Error, client, layout.systemTable);
  } finally {
    client.destroy();
  }
  return made;
}

const ignore = () => undefined;
/** Without this logger the SDK writes warnings about busy connections to standard error, not to our log. */
const silent = { debug: ignore, info: ignore, warn: ignore, error: ignore };
const agent = { keepAlive: true, maxSockets: socketsMax };

function openClient({ endpoint, region }: DynamoSettings): DynamoDBClient {
  return new DynamoDBClient({
    ...defined({ endpoint, region }),
    maxAttempts: 1,
    requestHandler: {
      httpAgent: agent,
      httpsAgent: agent,
      connectionTimeout: attemptMsMax,
      logger: silent,
    },
  });
}

/** A transaction that writes nothing checks endpoint, region, credentials and table in one call. */
async function probe(calls: Calls, table: string): Promise<void> {
  const check = {
    TableName: table,
    Key: { space: { S: 'probe' }, id: { S: 'probe' } },
    ConditionExpression: 'attribute_not_exists(id)',
  };
  const command = new TransactWriteItemsCommand({ TransactItems: [{ ConditionCheck: check }] });
  await calls.read(command);
}

/**
 * While the network is late, the SDK finds no credentials of the machine's role, or expired ones, and the clock may not be set
 * yet.
 */
const passingCredentialErrors = new Set([
  'CredentialsProviderError',
  'ExpiredTokenException',
  'RequestTimeTooSkewed',
]);

async function explainFailure(error: Error, client: DynamoDBClient, table: string): Promise<Error> {
  const region = await client.config.region().catch(() => undefined);
  const where = `store (COUNTERFOIL_STORE): DynamoDB in region ${region ?? 'none'}`;
  const cause = (error.cause as Error | undefined) ?? error;
  if (region === undefined)
    return new SettingsError([
      'dynamodb.region (COUNTERFOIL_DYNAMODB_REGION): is not set, and neither is AWS_REGION',
    ]);
  if (isMissingTable(cause))
    return new SettingsError([
      `${where}: the table ${table} does not exist; run: npx counterfoil store init`,
    ]);
  if (isCredentialsError(cause)) {
    const problem =
      `${where}: the credentials are rejected (${cause.name}); set them where the AWS SDK finds them, for instance ` +
      'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY';
    return passingCredentialErrors.has(cause.name)
      ? new TransientError(problem, error)
      : new SettingsError([problem]);
  }
  if (cause.name === 'UnknownOperationException')
    return new SettingsError([`${where}: does not support transactions, which payments need`]);
  if (isKeyProblem(cause))
    return new SettingsError([
      `${where}: the key of the table ${table} is not the strings "space" and "id", so it is not a service table`,
    ]);
  if (error.name === 'ServiceError')
    return new TransientError(
      `${where}: cannot be reached (${(cause as { code?: string }).code ?? cause.name})`,
      error,
    );
  return error;
}

class DynamoEngine implements Engine {
  readonly reads = 'pages';
  readonly #client: DynamoDBClient;
  readonly #spaces: Spaces;
  readonly #scans: Scans;
  readonly #commits: Commits;
  readonly #running = new Set<Promise<unknown>>();

  constructor(client: DynamoDBClient, layout: Layout, settings: DynamoSettings) {
    const calls = new Calls(client, settings);
    this.#client = client;
    this.#spaces = new Spaces(calls, layout, settings.declared);
    this.#scans = new Scans(calls, layout, this.#spaces);
    this.#commits = new Commits(calls, layout, this.#spaces);
  }

  get(space: Space, id: string): Promise<string | undefined> {
    return this.#spaces.get(space, id);
  }

  spaces(): Promise<readonly Space[]> {
    return this.#spaces.list();
  }

  async describe(space: Space): Promise<SpaceFacts | undefined> {
    return (await this.#spaces.exists(space)) ? {} : undefined;
  }

  count(space: Space): Promise<number | undefined> {
    return this.#scans.count(space);
  }

  /** A DynamoDB table holds more than its items: its backups, its alarms, and attributes of other programs. */
  async removeSpace(space: Space): Promise<SpaceRemoval> {
    const items = await this.#scans.scan(space, { limit: 1 });
    if (items === undefined) return 'missing';
    for await (const _ of items.chunks) return 'not_empty';
    return 'kept';
  }

  scan(space: Space, options: ScanOptions = {}): Promise<Scan | undefined> {
    return this.#scans.scan(space, options);
  }

  async commit(writes: readonly Write[]): Promise<Rejection | undefined> {
    if (writes.length === 0 || writes.length > commitWritesMax)
      throw new RangeError(`a commit has 1 to ${commitWritesMax} writes`);
    const committing = this.#commits.commit(writes);
    this.#running.add(committing);
    try {
      return await committing;
    } finally {
      this.#running.delete(committing);
    }
  }

  /** There is no local disk to check. Only a write could check DynamoDB, and each write costs money. */
  async checkWritable(): Promise<void> {
    return undefined;
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#running);
    this.#client.destroy();
  }
}

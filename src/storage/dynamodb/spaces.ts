import { setTimeout as sleep } from 'node:timers/promises';
import {
  CreateTableCommand,
  DescribeTableCommand,
  GetItemCommand,
  ListTablesCommand,
  QueryCommand,
  UpdateContinuousBackupsCommand,
} from '@aws-sdk/client-dynamodb';
import { ServiceError } from '../../errors.ts';
import { type Space, serviceSpaces } from '../engine.ts';
import { type Calls, retryDelayMsMax } from './calls.ts';
import { isMissingTable, translateError } from './errors.ts';
import { isService, type Layout, listPartitions, storedValue } from './layout.ts';

/** How long a new table may take to become active. DynamoDB takes some seconds. */
const tableMadeMsMax = 60_000;

/** Reads single items, and lists and creates spaces. */
export class Spaces {
  readonly #calls: Calls;
  readonly #layout: Layout;
  readonly #declared: readonly string[];

  /** @param declared the tables to list when there is no prefix to recognize them by */
  constructor(calls: Calls, layout: Layout, declared: readonly string[]) {
    this.#calls = calls;
    this.#layout = layout;
    this.#declared = declared;
  }

  async get(space: Space, id: string): Promise<string | undefined> {
    const place = this.#layout.placeOf(space, id);
    if (place === undefined) return undefined;
    const { table, key, names } = place;
    const command = new GetItemCommand({
      TableName: table,
      Key: key,
      ConsistentRead: true,
      ProjectionExpression: '#value',
      ExpressionAttributeNames: { '#value': names.value },
    });
    const output = await orMissing(space, this.#calls.read(command));
    return output?.Item === undefined ? undefined : storedValue(output.Item, names);
  }

  /** Reads an item that need not exist: DynamoDB allows DescribeTable only a few times a second. */
  async exists(space: Space): Promise<boolean> {
    // Service spaces are in a table that exists when the engine is open.
    if (isService(space)) return true;
    const place = this.#layout.placeOf(space, 'any');
    if (place === undefined) return false;
    const command = new GetItemCommand({ TableName: place.table, Key: place.key });
    return (await orMissing(space, this.#calls.read(command))) !== undefined;
  }

  async list(): Promise<readonly Space[]> {
    const tables = this.#layout.prefix === '' ? await this.#existing(this.#declared) : await this.#prefixed();
    const ours: Space[] = [];
    for (const name of serviceSpaces)
      if (await this.#holdsItems(`service:${name}`)) ours.push(`service:${name}`);
    return [...ours, ...tables];
  }

  /** Creates a user's table; resolves when it is active. */
  async make(space: Space): Promise<void> {
    const table = isService(space) ? undefined : this.#layout.tableOf(space);
    if (table === undefined) throw new ServiceError('unavailable', { detail: systemTableMissing });
    await this.makeTable(table, ['id']);
  }

  /**
   * @param key attributes of the key, all strings: the partition key and perhaps a sort key
   * @returns `there` if the table existed, and was not changed; otherwise whether the engine supports point-in-time
   *   recovery, to any second of the last 35 days
   */
  async makeTable(table: string, key: readonly string[]): Promise<TableState> {
    const command = new CreateTableCommand({
      TableName: table,
      AttributeDefinitions: key.map((name) => ({ AttributeName: name, AttributeType: 'S' })),
      KeySchema: key.map((name, index) => ({ AttributeName: name, KeyType: index === 0 ? 'HASH' : 'RANGE' })),
      BillingMode: 'PAY_PER_REQUEST',
    });
    const made = await this.#calls.write(command).catch(unless('ResourceInUseException'));
    await this.#untilActive(table);
    if (made === undefined) return 'there';
    const recovery = new UpdateContinuousBackupsCommand({
      TableName: table,
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
    });
    const done = await this.#calls.write(recovery).catch(unless('UnknownOperationException'));
    return done === undefined ? 'made' : 'made recoverable';
  }

  async #untilActive(table: string): Promise<void> {
    const end = performance.now() + tableMadeMsMax;
    for (let pauseMs = 20; performance.now() < end; pauseMs = Math.min(2 * pauseMs, retryDelayMsMax)) {
      const output = await this.#calls
        .read(new DescribeTableCommand({ TableName: table }))
        .catch(unless('ResourceNotFoundException'));
      if (output?.Table?.TableStatus === 'ACTIVE') return;
      await sleep(pauseMs);
    }
    throw new ServiceError('unavailable', {
      retryAfterSeconds: 5,
      detail: `DynamoDB is still creating ${table}`,
    });
  }

  async #existing(tables: readonly string[]): Promise<Space[]> {
    const spaces = tables.map((table): Space => `table:${table}`);
    const areThere = await Promise.all(spaces.map((space) => this.exists(space)));
    return spaces.filter((_, index) => areThere[index]);
  }

  async #prefixed(): Promise<Space[]> {
    const spaces: Space[] = [];
    let last: string | undefined;
    do {
      const page = await this.#calls.read(new ListTablesCommand({ ExclusiveStartTableName: last }));
      for (const table of page.TableNames ?? []) {
        const space = this.#layout.spaceOf(table);
        if (space !== undefined) spaces.push(space);
      }
      last = page.LastEvaluatedTableName;
    } while (last !== undefined);
    return spaces;
  }

  async #holdsItems(space: Parameters<typeof listPartitions>[0]): Promise<boolean> {
    for (const partition of listPartitions(space)) {
      const command = new QueryCommand({
        TableName: this.#layout.systemTable,
        KeyConditionExpression: '#space = :space',
        ExpressionAttributeNames: { '#space': 'space' },
        ExpressionAttributeValues: { ':space': { S: partition } },
        ConsistentRead: true,
        Limit: 1,
      });
      const output = await orMissing(space, this.#calls.read(command));
      if ((output?.Items?.length ?? 0) > 0) return true;
    }
    return false;
  }
}

export type TableState = 'there' | 'made' | 'made recoverable';

const systemTableMissing = 'the service table is missing; run: counterfoil store init';

/** Undefined when the table of a user's space is missing. Throws when the service's own table is missing. */
export async function orMissing<Output>(space: Space, output: Promise<Output>): Promise<Output | undefined> {
  try {
    return await output;
  } catch (error) {
    if (!isMissingTable(error as Error)) throw translateError(error as Error);
    if (isService(space)) throw new ServiceError('unavailable', { detail: systemTableMissing, cause: error });
    return undefined;
  }
}

function unless(...names: readonly string[]): (error: Error) => undefined {
  return (error) => {
    if (!names.includes(error.name)) throw error;
    return undefined;
  };
}

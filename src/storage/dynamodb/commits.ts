import { PutItemCommand, type TransactWriteItem, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb';
import { ServiceError } from '../../errors.ts';
import { randomBytes } from '../../random.ts';
import type { Rejection, Space, Write } from '../engine.ts';
import type { Calls } from './calls.ts';
import { type DynamoError, isMissingTable, translateError } from './errors.ts';
import { type ItemPlace, isService, type Layout } from './layout.ts';
import type { Spaces } from './spaces.ts';

const ifAbsent = 'attribute_not_exists(id)';
/** Attempts of one commit that finds a table missing. The limit ends the loop when the table keeps disappearing. */
const missingTableTriesMax = 4;

/**
 * Conditional writes: of two concurrent ones, one wins.
 *
 * A retry after a lost reply is harmless. A single *create*, by far the most frequent commit, stores its operation id
 * with the item, so a retry recognizes its own item. Every other commit is a transaction with a client request token,
 * which DynamoDB remembers for ten minutes. That costs twice the write units; there is no cheaper safe way.
 */
export class Commits {
  readonly #calls: Calls;
  readonly #layout: Layout;
  readonly #spaces: Spaces;

  constructor(calls: Calls, layout: Layout, spaces: Spaces) {
    this.#calls = calls;
    this.#layout = layout;
    this.#spaces = spaces;
  }

  async commit(writes: readonly Write[]): Promise<Rejection | undefined> {
    const places = writes.map(({ space, id }) => this.#layout.placeOf(space, id));
    if (places.includes(undefined)) return this.#rejectionByReading(writes);
    const token = randomBytes(18).toString('base64url');
    for (let tries = 1; ; tries++) {
      try {
        return await this.#write(writes, places as ItemPlace[], token);
      } catch (error) {
        if (!isMissingTable(error as DynamoError)) throw translateError(error as DynamoError);
        if (tries === missingTableTriesMax) throw unstableTable(error);
        const rejection = await this.#rejectionByReading(writes);
        if (rejection !== undefined) return rejection;
        await this.#makeMissing(writes);
      }
    }
  }

  #write(
    writes: readonly Write[],
    places: readonly ItemPlace[],
    token: string,
  ): Promise<Rejection | undefined> {
    const [first] = writes;
    return writes.length === 1 && first?.kind === 'create'
      ? this.#create(first.value, places[0] as ItemPlace, token)
      : this.#transact(writes, places, token);
  }

  async #create(
    value: string,
    { table, key, names }: ItemPlace,
    operation: string,
  ): Promise<Rejection | undefined> {
    const command = new PutItemCommand({
      TableName: table,
      Item: { ...key, [names.value]: { S: value }, [names.operation]: { S: operation } },
      ConditionExpression: ifAbsent,
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    try {
      await this.#calls.write(command);
      return undefined;
    } catch (error) {
      if ((error as DynamoError).name !== 'ConditionalCheckFailedException') throw error;
      const isOwn = (error as DynamoError).Item?.[names.operation]?.S === operation;
      return isOwn ? undefined : { write: 0, reason: 'exists' };
    }
  }

  async #transact(
    writes: readonly Write[],
    places: readonly ItemPlace[],
    token: string,
  ): Promise<Rejection | undefined> {
    const command = new TransactWriteItemsCommand({
      TransactItems: writes.map((write, index) => transactItem(write, places[index] as ItemPlace)),
      ClientRequestToken: token,
    });
    try {
      await this.#calls.write(command);
      return undefined;
    } catch (error) {
      const { CancellationReasons: reasons = [] } = error as DynamoError;
      const index = reasons.findIndex(({ Code }) => Code === 'ConditionalCheckFailed');
      if (index < 0) throw error;
      const exists = reasons[index]?.Item !== undefined;
      return { write: index, reason: rejectionReason(writes[index] as Write, exists) };
    }
  }

  /** The first write that fails in the current state, for commits that DynamoDB rejects because a table is missing. */
  async #rejectionByReading(writes: readonly Write[]): Promise<Rejection | undefined> {
    for (const [index, write] of writes.entries()) {
      const value = await this.#spaces.get(write.space, write.id);
      if (write.kind === 'create' && value !== undefined) return { write: index, reason: 'exists' };
      if (write.kind === 'create' || write.kind === 'put') {
        if (!(await this.#canCreateIn(write.space, write.makeSpace)))
          return { write: index, reason: 'space_missing' };
      } else if (write.ifValue === null) {
        if (value !== undefined) return { write: index, reason: 'exists' };
      } else if (value === undefined) return { write: index, reason: 'missing' };
      else if (write.ifValue !== undefined && write.ifValue !== value)
        return { write: index, reason: 'differs' };
    }
    return undefined;
  }

  async #canCreateIn(space: Space, makeSpace: boolean): Promise<boolean> {
    if (await this.#spaces.exists(space)) return true;
    return makeSpace && this.#layout.placeOf(space, '') !== undefined;
  }

  async #makeMissing(writes: readonly Write[]): Promise<void> {
    // The service's own table exists, because it was read.
    const tables = writes.map((write) => write.space).filter((space) => !isService(space));
    for (const space of new Set(tables)) {
      if (!(await this.#spaces.exists(space))) await this.#spaces.make(space);
    }
  }
}

function unstableTable(cause: unknown): ServiceError {
  return new ServiceError('unavailable', {
    retryAfterSeconds: 5,
    detail: 'a DynamoDB table appears and disappears',
    cause,
  });
}

function transactItem(write: Write, { table, key, names }: ItemPlace): TransactWriteItem {
  const common = { TableName: table, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const;
  if (write.kind === 'create') {
    const item = { ...key, [names.value]: { S: write.value } };
    return { Put: { ...common, Item: item, ConditionExpression: ifAbsent } };
  }
  const ifValue = write.kind === 'put' ? undefined : write.ifValue;
  if (ifValue === null) return { ConditionCheck: { ...common, Key: key, ConditionExpression: ifAbsent } };
  const condition = `attribute_exists(id)${ifValue === undefined ? '' : ' AND #value = :expected'}`;
  const expected = ifValue === undefined ? {} : { ':expected': { S: ifValue } };
  const valueName = { '#value': names.value };
  if (write.kind === 'put' || write.kind === 'replace') {
    const update = {
      ...common,
      Key: key,
      // Keeps other attributes of the item, which belong to other programs.
      UpdateExpression: 'SET #value = :value',
      ConditionExpression: write.kind === 'put' ? undefined : condition,
      ExpressionAttributeNames: valueName,
      ExpressionAttributeValues: { ...expected, ':value': { S: write.value } },
    };
    return { Update: update };
  }
  const named =
    ifValue === undefined ? {} : { ExpressionAttributeNames: valueName, ExpressionAttributeValues: expected };
  const conditional = { ...common, Key: key, ConditionExpression: condition, ...named };
  return write.kind === 'check' ? { ConditionCheck: conditional } : { Delete: conditional };
}

function rejectionReason(write: Write, exists: boolean): Rejection['reason'] {
  if (write.kind === 'create' || (write.kind === 'check' && write.ifValue === null)) return 'exists';
  return exists ? 'differs' : 'missing';
}

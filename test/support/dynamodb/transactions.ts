import { createRequire } from 'node:module';
import type { DynamoReply, DynamoRequest } from './request.ts';

// biome-ignore lint/suspicious/noExplicitAny: items are of every shape
type Json = any;

const require = createRequire(import.meta.url);
const validations = require('dynalite/validations') as Json;
const conditions = require('dynalite/validations/putItem') as Json;
const { checkConditional, itemSize } = require('dynalite/db') as Json;

const itemBytesMax = 400 * 1024;
const kinds = {
  Put: 'PutItem',
  Update: 'UpdateItem',
  Delete: 'DeleteItem',
  ConditionCheck: undefined,
} as const;
type Kind = keyof typeof kinds;

/** Implements TransactWriteItems by single operations. The caller must run nothing else at the same time. */
export class Transactions {
  readonly #call: (request: DynamoRequest) => Promise<DynamoReply>;
  /** The actions of the transactions that were committed, by client request token. */
  readonly #done = new Map<string, string>();

  constructor(call: (request: DynamoRequest) => Promise<DynamoReply>) {
    this.#call = call;
  }

  async write({ TransactItems: actions, ClientRequestToken: token, ...rest }: Json): Promise<DynamoReply> {
    const text = JSON.stringify(actions);
    const earlier = this.#done.get(token);
    if (earlier !== undefined) return earlier === text ? this.#success(actions, rest) : mismatch;
    const reasons: Json[] = [];
    for (const action of actions) {
      const [kind, parts] = Object.entries(action)[0] as [Kind, Json];
      const found = await this.#call({ operation: 'GetItem', body: keyed(parts) });
      if (found.status !== 200) return found;
      reasons.push(reasonAgainst(kind, parts, found.body.Item));
    }
    if (reasons.some(({ Code }) => Code !== 'None')) return cancelled(reasons);
    for (const action of actions) await this.#apply(action);
    if (token !== undefined) this.#done.set(token, text);
    return this.#success(actions, rest);
  }

  /** The current item of an operation. */
  async itemOf(parts: Json): Promise<Json> {
    return (await this.#call({ operation: 'GetItem', body: keyed(parts) })).body.Item;
  }

  async #apply(action: Json): Promise<void> {
    const [kind, { ReturnValuesOnConditionCheckFailure: _, ...parts }] = Object.entries(action)[0] as [
      Kind,
      Json,
    ];
    const operation = kinds[kind];
    if (operation === undefined) return;
    const { status, body } = await this.#call({ operation, body: parts });
    if (status !== 200) throw new Error(`half a transaction: ${JSON.stringify(body)}`);
  }

  #success(actions: Json, { ReturnConsumedCapacity: wanted }: Json): DynamoReply {
    if (wanted === undefined) return { status: 200, body: {} };
    const [table] = Object.values(actions[0]) as Json[];
    // Two write units for each item of up to 1 KB.
    const units = actions.reduce(
      (sum: number, action: Json) => sum + 2 * kilobytes(Object.values(action)[0]),
      0,
    );
    const capacity = [{ TableName: table.TableName, CapacityUnits: units }];
    return { status: 200, body: { ConsumedCapacity: capacity } };
  }
}

function kilobytes({ Item, Key, ExpressionAttributeValues: values }: Json): number {
  return Math.max(1, Math.ceil(itemSize(Item ?? { ...Key, ...values }) / 1024));
}

function keyed({ TableName, Key, Item }: Json): object {
  const key = Key ?? (Item.space === undefined ? { id: Item.id } : { space: Item.space, id: Item.id });
  return { TableName, Key: key, ConsistentRead: true };
}

function reasonAgainst(kind: Kind, parts: Json, item: Json): object {
  if (kind === 'Put' && itemSize(parts.Item) > itemBytesMax)
    return { Code: 'ValidationError', Message: 'Item size has exceeded the maximum allowed size' };
  if (parts.ConditionExpression === undefined) return { Code: 'None' };
  if (checkConditional(parsedCondition(parts), item) == null) return { Code: 'None' };
  const shown = parts.ReturnValuesOnConditionCheckFailure === 'ALL_OLD' && item !== undefined;
  return {
    Code: 'ConditionalCheckFailed',
    Message: 'The conditional request failed',
    ...(shown ? { Item: item } : {}),
  };
}

/** Parses the condition with dynalite's own parser, which rejects unused names and values. */
function parsedCondition(parts: Json): Json {
  const { TableName, ConditionExpression = '', ExpressionAttributeNames, ExpressionAttributeValues } = parts;
  const data: Json = { TableName, Item: { id: { S: 'any' } }, ConditionExpression };
  const names = used(ExpressionAttributeNames, ConditionExpression);
  const values = used(ExpressionAttributeValues, ConditionExpression);
  if (names !== undefined) data.ExpressionAttributeNames = names;
  if (values !== undefined) data.ExpressionAttributeValues = values;
  const checked = validations.checkTypes(data, conditions.types);
  validations.checkValidations(checked, conditions.types, conditions.custom, {
    options: { maxItemSize: itemBytesMax },
  });
  return checked;
}

function used(map: Record<string, Json> | undefined, expression: string): Record<string, Json> | undefined {
  const entries = Object.entries(map ?? {}).filter(([name]) => expression.includes(name));
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

const mismatch: DynamoReply = {
  status: 400,
  body: { __type: 'com.amazonaws.dynamodb.v20120810#IdempotentParameterMismatchException' },
};

function cancelled(reasons: readonly Json[]): DynamoReply {
  const body = {
    __type: 'com.amazonaws.dynamodb.v20120810#TransactionCanceledException',
    Message: 'Transaction cancelled',
    CancellationReasons: reasons,
  };
  return { status: 400, body };
}

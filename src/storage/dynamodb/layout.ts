import { hash } from 'node:crypto';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { ServiceError } from '../../errors.ts';
import type { ServiceSpace, Space } from '../engine.ts';
import type { Item } from '../item-text.ts';
import { tableNameCharactersMax } from '../limits.ts';
import { dynamoTableNameCharactersMin, timeOrderedShards } from './limits.ts';
import { otherKey } from './refused.ts';

export type Attributes = Record<string, AttributeValue>;

/** Where an item lies, and under which names it has its value and the operation that made it. */
export interface Place {
  readonly table: string;
  readonly key: Attributes;
  readonly names: Names;
}

export interface Names {
  readonly value: string;
  readonly operation: string;
}

/** A user's table is a table whose partition key is the string `id`. */
const tableNames: Names = { value: 'name', operation: 'counterfoil_operation' };
/** All of the service's own spaces are one table: partition key `space`, sort key `id`. */
const systemNames: Names = { value: 'value', operation: 'operation' };

/**
 * Spaces whose ids begin with the time: all that is new would lie at the end of one partition, and one takes 1,000
 * write units a second. So they are spread over several, told by a hash of the id.
 */
const timeOrdered: ReadonlySet<ServiceSpace> = new Set(['payments', 'open-payments']);

/** Where spaces lie in DynamoDB, behind a prefix that sets the service's tables apart from others of the account. */
export class Layout {
  readonly systemTable: string;
  readonly prefix: string;

  constructor(prefix: string) {
    this.prefix = prefix;
    this.systemTable = `${prefix}counterfoil`;
  }

  /** The table of a user's space, or undefined where no table can have that name. */
  tableOf(space: Space): string | undefined {
    const table = this.prefix + space.slice('table:'.length);
    // No name that a user can choose reaches what the service keeps.
    if (table === this.systemTable) return undefined;
    const isName = table.length >= dynamoTableNameCharactersMin && table.length <= tableNameCharactersMax;
    return isName ? table : undefined;
  }

  spaceOf(table: string): Space | undefined {
    const isOurs = table.startsWith(this.prefix) && table !== this.systemTable;
    return isOurs ? `table:${table.slice(this.prefix.length)}` : undefined;
  }

  /** Undefined where the space can be no table. */
  placeOf(space: Space, id: string): Place | undefined {
    if (isService(space)) {
      const key = { space: { S: partitionOf(space, id) }, id: { S: id } };
      return { table: this.systemTable, key, names: systemNames };
    }
    const table = this.tableOf(space);
    return table === undefined ? undefined : { table, key: { id: { S: id } }, names: tableNames };
  }
}

export function isService(space: Space): space is `service:${ServiceSpace}` {
  return space.startsWith('service:');
}

export function namesOf(space: Space): Names {
  return isService(space) ? systemNames : tableNames;
}

/** The partitions over which a service's space is spread. */
export function partitionsOf(space: `service:${ServiceSpace}`): string[] {
  const name = space.slice('service:'.length);
  if (!timeOrdered.has(name as ServiceSpace)) return [name];
  return Array.from({ length: timeOrderedShards }, (_, shard) => `${name}#${shard}`);
}

function partitionOf(space: `service:${ServiceSpace}`, id: string): string {
  const partitions = partitionsOf(space);
  const shard = partitions.length === 1 ? 0 : hash('sha256', id, 'buffer').readUInt32BE() % partitions.length;
  return partitions[shard] as string;
}

/** Refuses an item that has no string where the service keeps its value: it cannot be told as one, nor left out. */
export function storedValue(attributes: Attributes, names: Names): string {
  const value = attributes[names.value]?.S;
  if (value === undefined) {
    throw new ServiceError('unavailable', {
      message: `An item of this table has no string "${names.value}"; the table cannot be read here until it has.`,
      retryable: false,
    });
  }
  return value;
}

export function itemOf(attributes: Attributes, names: Names): Item {
  const id = attributes.id?.S;
  if (id === undefined) throw otherKey();
  return { id, name: storedValue(attributes, names) };
}

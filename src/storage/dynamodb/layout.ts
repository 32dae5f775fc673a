import { hash } from 'node:crypto';
import { ServiceError } from '../../errors.ts';
import type { ServiceSpace, Space } from '../engine.ts';
import type { Item } from '../item-text.ts';
import { tableNameCharactersMax } from '../limits.ts';
import { type Attributes, wrongKey } from './errors.ts';

/** DynamoDB's bound on a table name. */
const tableNameCharactersMin = 3;
/** Each shard accepts 1,000 write units a second: together enough for about 2,000 charges a second. */
const timeOrderedShards = 8;

/** Where an item is stored, and which attributes hold its value and the operation that created it. */
export interface ItemPlace {
  readonly table: string;
  readonly key: Attributes;
  readonly names: Names;
}

export interface Names {
  readonly value: string;
  readonly operation: string;
}

/** A user's table is a DynamoDB table with the string `id` as partition key. */
const tableNames: Names = { value: 'name', operation: 'counterfoil_operation' };
/** All of the service's own spaces are one table: partition key `space`, sort key `id`. */
const systemNames: Names = { value: 'value', operation: 'operation' };

/**
 * Spaces with ids that begin with the time. All new items would be at the end of one partition, which accepts 1,000
 * write units a second. A hash of the id spreads them over several partitions.
 */
const timeOrdered: ReadonlySet<ServiceSpace> = new Set(['payments', 'open-payments']);

/** Maps spaces to DynamoDB tables. A prefix separates the service's tables from others of the account. */
export class Layout {
  readonly systemTable: string;
  readonly prefix: string;

  constructor(prefix: string) {
    this.prefix = prefix;
    this.systemTable = `${prefix}counterfoil`;
  }

  /** The table of a user's space; undefined when no table can have that name. */
  tableOf(space: Space): string | undefined {
    const table = this.prefix + space.slice('table:'.length);
    // No table name can reach the service's own records.
    if (table === this.systemTable) return undefined;
    const isName = table.length >= tableNameCharactersMin && table.length <= tableNameCharactersMax;
    return isName ? table : undefined;
  }

  spaceOf(table: string): Space | undefined {
    const isOurs = table.startsWith(this.prefix) && table !== this.systemTable;
    return isOurs ? `table:${table.slice(this.prefix.length)}` : undefined;
  }

  /** Undefined when the space cannot be a table. */
  placeOf(space: Space, id: string): ItemPlace | undefined {
    if (isService(space)) {
      const key = { space: { S: choosePartition(space, id) }, id: { S: id } };
      return { table: this.systemTable, key, names: systemNames };
    }
    const table = this.tableOf(space);
    return table === undefined ? undefined : { table, key: { id: { S: id } }, names: tableNames };
  }
}

export function isService(space: Space): space is `service:${ServiceSpace}` {
  return space.startsWith('service:');
}

export function namesIn(space: Space): Names {
  return isService(space) ? systemNames : tableNames;
}

/** The partitions of a service space. */
export function listPartitions(space: `service:${ServiceSpace}`): string[] {
  const name = space.slice('service:'.length);
  if (!timeOrdered.has(name as ServiceSpace)) return [name];
  return Array.from({ length: timeOrderedShards }, (_, shard) => `${name}#${shard}`);
}

function choosePartition(space: `service:${ServiceSpace}`, id: string): string {
  const partitions = listPartitions(space);
  const shard = partitions.length === 1 ? 0 : hash('sha256', id, 'buffer').readUInt32BE() % partitions.length;
  return partitions[shard] as string;
}

/** Throws when the value attribute is not a string: the item can neither be returned nor left out. */
export function storedValue(attributes: Attributes, names: Names): string {
  const value = attributes[names.value]?.S;
  if (value === undefined) {
    throw new ServiceError('unavailable', {
      message: `An item of this table has no string "${names.value}". Until it has one, the table cannot be read.`,
      retryable: false,
    });
  }
  return value;
}

export function readItem(attributes: Attributes, names: Names): Item {
  const id = attributes.id?.S;
  if (id === undefined) throw wrongKey();
  return { id, name: storedValue(attributes, names) };
}

import { ScanCommand } from '@aws-sdk/client-dynamodb';
import type { Space } from '../engine.ts';
import type { Calls } from './calls.ts';
import type { Attributes, Layout } from './layout.ts';
import { orMissing } from './spaces.ts';
import type { VerifiedTables } from './verified-tables.ts';

/** Counts the items of tables. */
export class Counts {
  readonly #calls: Calls;
  readonly #layout: Layout;
  readonly #verified: VerifiedTables;

  constructor(calls: Calls, layout: Layout, verified: VerifiedTables) {
    this.#calls = calls;
    this.#layout = layout;
    this.#verified = verified;
  }

  /** Reads the whole table: the number that DynamoDB keeps is up to six hours old. */
  async of(space: Space): Promise<number | undefined> {
    const table = this.#layout.placeOf(space, '')?.table;
    if (table === undefined || !(await this.#verified.has(space))) return undefined;
    let count = 0;
    let from: Attributes | undefined;
    do {
      const page = await this.#page(space, table, from);
      if (page === undefined) return undefined;
      count += page.Count ?? 0;
      from = page.LastEvaluatedKey;
    } while (from !== undefined);
    return count;
  }

  #page(space: Space, table: string, from: Attributes | undefined) {
    const command = new ScanCommand({
      TableName: table,
      ConsistentRead: true,
      Select: 'COUNT',
      ...(from === undefined ? {} : { ExclusiveStartKey: from }),
    });
    return orMissing(
      space,
      this.#calls.read((client, options) => client.send(command, options)),
    );
  }
}

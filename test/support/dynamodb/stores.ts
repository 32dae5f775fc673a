import { randomBytes } from 'node:crypto';
import { after } from 'node:test';
import { type DynamoServer, serveDynalite } from './dynalite.ts';

/** The SDK reads its credentials from these variables; no engine of the tests checks them. */
process.env.AWS_ACCESS_KEY_ID ??= 'test';
process.env.AWS_SECRET_ACCESS_KEY ??= 'test';

let server: Promise<DynamoServer> | undefined;

/**
 * The endpoint of the engine of this process: `DYNAMODB_ENDPOINT` if it is set (AWS's own DynamoDB Local, in the
 * conformance tests), and otherwise dynalite.
 */
export async function dynamoEndpoint(): Promise<string> {
  const given = process.env.DYNAMODB_ENDPOINT;
  if (given !== undefined) return given;
  server ??= serveDynalite();
  return (await server).endpoint;
}

after(async () => (await server)?.close());

export const dynamoRegion = 'eu-central-1';

/** A unique prefix, so that the stores of one engine share no tables. */
export function newPrefix(): string {
  return `t${randomBytes(6).toString('hex')}-`;
}

/** The environment of a service on an engine, whose tables must exist (`counterfoil store init`). */
export function dynamoEnvironment(endpoint: string, tablePrefix: string): Record<string, string> {
  return {
    COUNTERFOIL_STORE: 'dynamodb',
    COUNTERFOIL_DYNAMODB_ENDPOINT: endpoint,
    COUNTERFOIL_DYNAMODB_REGION: dynamoRegion,
    COUNTERFOIL_DYNAMODB_TABLE_PREFIX: tablePrefix,
    COUNTERFOIL_TABLES: 'open',
  };
}

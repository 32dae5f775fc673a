import { randomBytes } from 'node:crypto';
import { after } from 'node:test';
import { type DynamoServer, serveDynalite } from './dynalite.ts';

/** The SDK's own chain finds them here; no engine of the tests checks them. */
process.env.AWS_ACCESS_KEY_ID ??= 'test';
process.env.AWS_SECRET_ACCESS_KEY ??= 'test';

let server: Promise<DynamoServer> | undefined;

/**
 * What speaks DynamoDB's protocol to this process: `DYNAMODB_ENDPOINT` where it is given (AWS's own DynamoDB Local, in
 * the conformance tests), and dynalite without it.
 */
export async function dynamoEndpoint(): Promise<string> {
  const given = process.env.DYNAMODB_ENDPOINT;
  if (given !== undefined) return given;
  server ??= serveDynalite();
  return (await server).endpoint;
}

after(async () => (await server)?.close());

export const dynamoRegion = 'eu-central-1';

/** A prefix that nobody else has: stores on one engine do not meet. */
export function newPrefix(): string {
  return `t${randomBytes(6).toString('hex')}-`;
}

/** What the service is started with on an engine; its tables must be there (`counterfoil store init`). */
export function dynamoEnvironment(endpoint: string, tablePrefix: string): Record<string, string> {
  return {
    COUNTERFOIL_STORE: 'dynamodb',
    COUNTERFOIL_DYNAMODB_ENDPOINT: endpoint,
    COUNTERFOIL_DYNAMODB_REGION: dynamoRegion,
    COUNTERFOIL_DYNAMODB_TABLE_PREFIX: tablePrefix,
    COUNTERFOIL_TABLES: 'open',
  };
}

import { hash } from 'node:crypto';
import { dynamoEndpoint, dynamoRegion } from './stores.ts';

const endpoint = await dynamoEndpoint();

/**
 * The environment of a service on tables that belong to its data folder: a restart with the same folder uses them
 * again.
 */
export function environmentOf(data: string): Record<string, string> {
  return {
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    COUNTERFOIL_STORE: 'dynamodb',
    COUNTERFOIL_DYNAMODB_ENDPOINT: endpoint,
    COUNTERFOIL_DYNAMODB_REGION: dynamoRegion,
    COUNTERFOIL_DYNAMODB_TABLE_PREFIX: `t${hash('sha256', data).slice(0, 12)}-`,
    COUNTERFOIL_TABLES: 'open',
  };
}

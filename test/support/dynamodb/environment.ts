import { hash } from 'node:crypto';
import { dynamoEndpoint, dynamoRegion } from './stores.ts';

const endpoint = await dynamoEndpoint();

/** What makes a service keep its data in tables that go with a data folder: started there anew, it finds them again. */
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

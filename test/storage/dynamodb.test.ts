import { initDynamo, openDynamoEngine } from '../../src/storage/dynamodb/open.ts';
import { testEngineContract } from '../contracts/engine.ts';
import { dynamoEndpoint, dynamoRegion, newPrefix } from '../support/dynamodb/stores.ts';

testEngineContract('DynamoDB', {
  open: async (store) => {
    const settings = {
      endpoint: await dynamoEndpoint(),
      region: dynamoRegion,
      tablePrefix: store,
      declared: [],
    };
    await initDynamo(settings);
    return openDynamoEngine(settings);
  },
  newStore: newPrefix,
});

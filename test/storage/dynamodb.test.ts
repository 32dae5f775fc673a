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
      // 300 commits at once wait for one another on a busy machine.
      attemptMsMax: 30_000,
    };
    await initDynamo(settings);
    return openDynamoEngine(settings);
  },
  newStore: newPrefix,
});

import { randomUUID } from 'node:crypto';
import { DynamoDBClient, PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { nameText } from './items.ts';

/**
 * Uses the AWS SDK directly, as a program without the service would.
 *
 * Usage: node bench/dynamodb-client.ts ENDPOINT TABLE put CONNECTIONS SECONDS   conditional puts; prints their rate
 *        node bench/dynamodb-client.ts ENDPOINT TABLE scan SEGMENTS ITEMS       all items, collected; prints ms
 */
const [endpoint = '', table = '', verb, first, second] = process.argv.slice(2);
const parallel = Number(first);
const client = new DynamoDBClient({
  endpoint,
  region: 'eu-central-1',
  credentials: { accessKeyId: 'bench', secretAccessKey: 'bench' },
  requestHandler: { httpAgent: { keepAlive: true, maxSockets: parallel } },
});

process.stdout.write(`${verb === 'put' ? await put(Number(second)) : await scan(Number(second))}\n`);
client.destroy();

async function put(seconds: number): Promise<number> {
  const began = performance.now();
  const end = began + seconds * 1_000;
  let count = 0;
  const repeat = async () => {
    while (performance.now() < end) {
      const command = new PutItemCommand({
        TableName: table,
        Item: { id: { S: randomUUID() }, name: { S: nameText('000001') } },
        ConditionExpression: 'attribute_not_exists(id)',
      });
      await client.send(command);
      count++;
    }
  };
  await Promise.all(Array.from({ length: parallel }, repeat));
  return count / ((performance.now() - began) / 1_000);
}

async function scan(expected: number): Promise<number> {
  // The first scan opens the connections and lets Node compile the hot code.
  await collect();
  const began = performance.now();
  const items = await collect();
  const took = performance.now() - began;
  if (items.length < expected) throw new Error(`${items.length} items of ${expected}`);
  return took;
}

async function collect(): Promise<unknown[]> {
  const segments = await Promise.all(
    Array.from({ length: parallel }, (_, segment) => collectSegment(segment)),
  );
  return segments.flat();
}

async function collectSegment(segment: number): Promise<unknown[]> {
  const items: unknown[] = [];
  let start: Awaited<ReturnType<typeof page>>['LastEvaluatedKey'];
  do {
    const response = await page(segment, start);
    items.push(...(response.Items ?? []).map(({ id, name }) => ({ id: id?.S, name: name?.S })));
    start = response.LastEvaluatedKey;
  } while (start !== undefined);
  return items;
}

function page(segment: number, start: Record<string, { S: string }> | undefined | object) {
  const command = new ScanCommand({
    TableName: table,
    ConsistentRead: true,
    Segment: segment,
    TotalSegments: parallel,
    ...(start === undefined ? {} : { ExclusiveStartKey: start as Record<string, { S: string }> }),
  });
  return client.send(command);
}

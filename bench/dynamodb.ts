import { type Environment, firstLine } from './environment.ts';
import { sourceFile } from './source-file.ts';
import { missingTool, type Tool } from './tools.ts';

const java: Tool = {
  command: 'java',
  versionArgs: ['-version'],
  version: /openjdk version \S+/,
  install: 'on Debian and Ubuntu: apt-get install default-jdk-headless',
};
const maven: Tool = {
  command: 'mvn',
  versionArgs: ['-v'],
  version: /Apache Maven \S+/,
  install: 'on Debian and Ubuntu: apt-get install maven',
};

/** Returns why DynamoDB Local cannot run here, or undefined if it can. */
export function missingDynamo(): string | undefined {
  return missingTool(java, maven);
}

/** Maven may have to fetch it first. */
const startMsMax = 300_000;

/** AWS's own DynamoDB Local, in memory. @returns its endpoint */
export async function startDynamo(environment: Environment): Promise<string> {
  const program = environment.start('bash', [
    sourceFile('../scripts/dynamodb-local/serve.sh'),
    environment.folder,
  ]);
  return firstLine(program, (line) => line.startsWith('http://'), startMsMax);
}

/** Starts an engine that responds after 5 ms and stores nothing (`slow-engine.ts`). @returns its endpoint */
export async function startSlowEngine(environment: Environment): Promise<string> {
  const program = environment.start(process.execPath, [sourceFile('slow-engine.ts')]);
  return firstLine(program, (line) => line.startsWith('http://'));
}

/** The settings of a service on one of these engines, which ignore the credentials. */
export function dynamoEnvironment(endpoint: string): Record<string, string> {
  return {
    AWS_ACCESS_KEY_ID: 'bench',
    AWS_SECRET_ACCESS_KEY: 'bench',
    AWS_REGION: 'eu-central-1',
    COUNTERFOIL_STORE: 'dynamodb',
    COUNTERFOIL_DYNAMODB_ENDPOINT: endpoint,
    COUNTERFOIL_DYNAMODB_TABLE_PREFIX: 'bench-',
    COUNTERFOIL_TABLES: 'open',
  };
}

import { after, type TestContext } from 'node:test';
import { startTestService, type TestService, type TestServiceOptions } from '../service.ts';

/** Starts one service for all tests of a file that need only a table of their own; stopped after the last of them. */
export function startSharedService(options: TestServiceOptions = {}): Promise<TestService> {
  return startTestService({ after } as TestContext, options);
}

let tables = 0;

/** The path of a table that no other test of the file uses. */
export function newTable(): string {
  return `/v3/table/table-${++tables}`;
}

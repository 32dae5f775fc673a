import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { masterKeyOverlapMs } from '../../../src/secrets/limits.ts';
import { type Ended, runCommand } from '../command.ts';
import type { TestResponse, TestService } from '../service.ts';

/** Secrets that a rotation must leave readable, and the commands that run next to a service. */

const credentials = { IDP_CLIENT_ID: 'client-1', IDP_CLIENT_SECRET: 'secret-1' };

type Client = Pick<TestService, 'post'>;

/** Registers `count` integrations. @returns their names */
export async function register(client: Client, count: number, prefix = 'app'): Promise<string[]> {
  const names = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
  const responses = await Promise.all(names.map((name) => registration(client, name)));
  assert.ok(responses.every(({ status }) => status === 200));
  return names;
}

/** A repeated registration opens the stored secret and compares it. */
export async function assertReadable(client: Client, names: readonly string[]): Promise<void> {
  for (const name of names) assert.equal((await registration(client, name)).status, 200, name);
}

function registration(client: Client, name: string) {
  return client.post(`/v3/create/service/auth/google/${name}`, credentials);
}

/** Registers and charges repeatedly. @returns a function that stops it, and returns the names and failed statuses */
export function keepBusy(client: Client, prefix = 'busy') {
  const names: string[] = [];
  const failedStatuses: number[] = [];
  let goesOn = true;
  const request = { amount: 100, currency: 'EUR', token: 'tok_paid' };
  const work = (async () => {
    while (goesOn) {
      const [name] = await register(client, 1, `${prefix}-${names.length}`);
      names.push(name as string);
      const { status } = await client.post('/stage/payment/simulated/charge', request);
      if (status !== 200) failedStatuses.push(status);
      // The rotation shares the processors of the machine.
      await sleep(10);
    }
  })();
  return async () => {
    goesOn = false;
    await work;
    return { names, failedStatuses };
  };
}

export function command(data: string, env: Readonly<Record<string, string>> = {}) {
  return (...args: string[]) => runCommand(args, { COUNTERFOIL_DATA: data, ...env });
}

export function keyLines(data: string): string[] {
  return readFileSync(`${data}.key`, 'utf8').trim().split('\n');
}

/** Runs `secrets retire` as if some minutes later. */
export function retireLater(data: string, env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const imports = `${env.NODE_OPTIONS ?? ''} --import ${join(import.meta.dirname, 'clock-set-forward.ts')}`;
  const later = { NODE_OPTIONS: imports, LATER_MS: String(masterKeyOverlapMs) };
  return command(data, { ...env, ...later })('secrets', 'retire');
}

/** A client of a service in another process. */
export function clientOf(origin: string): Client {
  return {
    post: (path, body) => post(origin + path, body),
  };
}

async function post(url: string, body: unknown): Promise<TestResponse> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: JSON.parse(text) };
}

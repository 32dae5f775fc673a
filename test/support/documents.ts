import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { newDataFolder, startTestService, type TestService } from './service.ts';

/** The origin and the data folder that the documents show. */
const shownOrigin = 'http://127.0.0.1:8080';
const shownData = './data';

/** README.md and every page of docs/. */
export const documents: readonly string[] = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name))
    .sort(),
];

export function documentText(name: string): string {
  return readFileSync(name, 'utf8');
}

export interface Example {
  readonly command: string;
  readonly response: string;
}

/**
 * In console blocks a line that begins with `$ ` is a command; a backslash at its end continues it on the next line. The
 * following lines, up to the next command or the end of the block, are its response.
 */
export function examplesOf(markdown: string): Example[] {
  const blocks = Array.from(markdown.matchAll(/```console\n(.*?)```/gs), ([, block = '']) => block);
  return blocks.flatMap((block) =>
    Array.from(
      block.matchAll(/^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)/gm),
      ([, command = '', response = '']) => ({ command, response: response.trimEnd() }),
    ),
  );
}

/** The settings file of a document, in a block marked `json counterfoil.json`. */
export function settingsOf(markdown: string): string | undefined {
  return /```json counterfoil\.json\n(.*?)```/s.exec(markdown)?.[1];
}

/** Matches a shown response exactly; `…` stands for text that differs each time, or for itself. */
function patternOf(response: string): RegExp {
  const literal = response.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${literal.join('(?:[\\w.:-]+|…)')}$`);
}

/** Runs each command of a document on a fresh service, and compares the response with the one that is shown. */
export async function runExamples(t: TestContext, name: string): Promise<void> {
  const text = documentText(name);
  const examples = examplesOf(text);
  // A command that the parser missed would not be run.
  assert.equal(examples.length, text.match(/^\$ /gm)?.length ?? 0, name);
  const data = newDataFolder(t);
  const file = `${data}.json`;
  writeFileSync(file, settingsOf(text) ?? '{}');
  const terminal = new Terminal(await startTestService(t, { data, file }));
  for (const { command, response } of examples)
    assert.match(await terminal.run(command), patternOf(response), command);
}

/** Runs the commands of one document on a service, with standard output and errors in the order of a terminal. */
class Terminal {
  readonly #service: TestService;
  #seen = '';

  constructor(service: TestService) {
    this.#service = service;
  }

  /** @param command where `pay_…` stands for the latest text of an earlier response that begins with `pay_` */
  async run(command: string): Promise<string> {
    const { origin, data } = this.#service;
    const filled = command.replace(/\b([A-Za-z]+_)…/g, (_, prefix: string) => this.#latest(prefix));
    const { stdout } = await promisify(execFile)(
      'sh',
      ['-c', `{ ${filled.replaceAll(shownOrigin, origin)}\n} 2>&1 || true`],
      { env: this.#environment() },
    );
    this.#seen += stdout;
    return stdout
      .trimEnd()
      .replaceAll(new URL(origin).host, new URL(shownOrigin).host)
      .replaceAll(data, shownData);
  }

  #latest(prefix: string): string {
    const latest = this.#seen.match(new RegExp(`\\b${prefix}[\\w.-]+`, 'g'))?.at(-1);
    if (latest === undefined) throw new Error(`no earlier response has a text that begins with ${prefix}`);
    return latest;
  }

  /** Commands of the CLI work on the data of the service. */
  #environment(): NodeJS.ProcessEnv {
    const { origin, data } = this.#service;
    const { PATH = '', HOME = '' } = process.env;
    return {
      PATH: `${resolve('node_modules/.bin')}:${PATH}`,
      HOME,
      PORT: new URL(origin).port,
      COUNTERFOIL_DATA: data,
      // npx warns about the machine: about its own version, or the settings of its user.
      npm_config_loglevel: 'error',
    };
  }
}

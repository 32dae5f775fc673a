import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { decliningTokens } from '../src/processors/simulated/ledger.ts';
import { leaves } from '../src/settings/load.ts';
import { startTestService } from './support/service.ts';

const readme = readFileSync('README.md', 'utf8');
const documented = 'http://127.0.0.1:8080';

test('the commands of the README give the answers that it shows', async (t) => {
  const { origin } = await startTestService(t);
  const examples = examplesOf(readme);
  assert.ok(examples.length >= 6, 'no examples were found');
  for (const { command, answer } of examples) {
    const { stdout } = await promisify(execFile)('sh', ['-c', command.replaceAll(documented, origin)]);
    assert.match(stdout.replaceAll(origin, documented), patternOf(answer), command);
  }
});

test('the README names every setting and every scripted token', () => {
  for (const { env } of leaves) assert.ok(readme.includes(`\`${env}\``), env);
  for (const word of decliningTokens) assert.ok(readme.includes(`tok_${word}`), word);
});

test('the README names only settings that there are', () => {
  const known = new Set(leaves.map(({ env }) => env));
  const named = readme.match(/COUNTERFOIL_[A-Z_]+/g) ?? [];
  for (const name of named) assert.ok(known.has(name.replace(/_FILE$/, '')), name);
});

interface Example {
  readonly command: string;
  readonly answer: string;
}

/** Within console blocks a line that begins with `$ ` is a command, and the next line its answer. */
function examplesOf(markdown: string): Example[] {
  const blocks = [...markdown.matchAll(/```console\n(.*?)```/gs)].map((match) => match[1] as string);
  return blocks.flatMap((block) =>
    [...block.matchAll(/^\$ (.+)\n(.+)$/gm)].map(([, command = '', answer = '']) => ({ command, answer })),
  );
}

/** The answer to the letter, where `…` stands for what differs each time. */
function patternOf(answer: string): RegExp {
  const literal = answer.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${literal.join('[\\w.:-]+')}$`);
}

import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { AttackReport, AttackRequest } from './attack-request.ts';

/** A process of attackers; ended after the test. */
export class Attacker {
  readonly #child: ChildProcess;
  readonly #ended: Promise<never>;

  constructor(t: TestContext) {
    const child = fork(join(import.meta.dirname, 'attacker-process.ts'));
    this.#child = child;
    this.#ended = once(child, 'exit').then(() => assert.fail('the attackers have ended by themselves'));
    this.#ended.catch(() => undefined);
    t.after(() => child.kill('SIGKILL'));
  }

  /** Resolves when the attacks have begun. */
  async begin(order: AttackRequest): Promise<void> {
    assert.equal(await this.#responseTo(order), 'begun');
  }

  /** Ends the attacks. */
  async end(): Promise<AttackReport> {
    return (await this.#responseTo('end')) as AttackReport;
  }

  async #responseTo(message: AttackRequest | 'end'): Promise<unknown> {
    const response = once(this.#child, 'message');
    this.#child.send(message);
    const [told] = await Promise.race([response, this.#ended]);
    return told;
  }
}

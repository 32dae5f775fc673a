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
    this.#ended = once(child, 'exit').then(() =>
      assert.fail('the process of attackers has ended unexpectedly'),
    );
    this.#ended.catch(() => undefined);
    t.after(() => child.kill('SIGKILL'));
  }

  /** Resolves when the attacks have begun. */
  async begin(request: AttackRequest): Promise<void> {
    assert.equal(await this.#responseTo(request), 'begun');
  }

  /** Ends the attacks. */
  async end(): Promise<AttackReport> {
    return (await this.#responseTo('end')) as AttackReport;
  }

  async #responseTo(message: AttackRequest | 'end'): Promise<unknown> {
    const responded = once(this.#child, 'message');
    this.#child.send(message);
    const [response] = await Promise.race([responded, this.#ended]);
    return response;
  }
}

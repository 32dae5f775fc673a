import type { Command } from 'commander';
import { type Finding, worstOf } from '../app/doctor/finding.ts';
import { describe, type JsonOption } from './command.ts';
import { commandSettings } from './command-settings.ts';
import { printResult } from './output/print.ts';

/** `counterfoil doctor`. */
export function defineDoctor(command: Command): void {
  describe(command, {
    description:
      'Check settings, store, master keys, secrets, clock, disk, address and processors, and print what to do. Exits with 1 ' +
      'if there is a problem. Works while the service is running.',
    examples: ['doctor', 'doctor --json'],
  }).action(doctor);
}

/**
 * Exits with 0 if there is no problem, with 1 if there is one, and
 * with 2 if it could not run.
 */
async function doctor({ json }: JsonOption): Promise<void> {
  const { examine } = await import('../app/doctor/command.ts');
  const findings = await examine(commandSettings);
  const status = worstOf(findings);
  printResult(json, { status, checks: findings.map(toJson) }, findings.map(lineOf));
  // Exits explicitly, because idle connections to processors keep the process alive for a while.
  process.stdout.write('', () => process.exit(status === 'problem' ? 1 : 0));
}

function lineOf(finding: Finding): string {
  return `${finding.status} ${sentenceOf(finding)}`;
}

function toJson(finding: Finding): object {
  return { status: finding.status, message: sentenceOf(finding) };
}

function sentenceOf({ check, message, action }: Finding): string {
  const text = message === '' ? check : `${check}: ${message}`;
  return action === undefined ? text : `${text}; ${action}`;
}

import { execFileSync } from 'node:child_process';

/**
 * Checks the packages of a production installation, as `npm sbom` lists them: each has a license that asks for no more than
 * its own text, and they are few.
 */
const allowed = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
]);
/** There are about 100: one more library that brings many is a decision of its own. */
const packagesMax = 120;

interface Component {
  readonly name: string;
  readonly version: string;
  readonly licenses?: readonly {
    readonly license?: { readonly id?: string; readonly name?: string };
    readonly expression?: string;
  }[];
}

const options = ['--omit=dev', '--sbom-format=cyclonedx', '--package-lock-only'];
const list = execFileSync('npm', ['sbom', ...options], {
  encoding: 'utf8',
  stdio: ['ignore', 'pipe', 'pipe'],
});
const { components } = JSON.parse(list) as { readonly components: readonly Component[] };

const problems = components
  .filter((component) => !allowed.has(licenseOf(component)))
  .map((component) => `${component.name}@${component.version}: the license "${licenseOf(component)}"`);
if (components.length === 0) problems.push('npm lists no packages');
if (components.length > packagesMax) problems.push(`${components.length} packages; at most ${packagesMax}`);

for (const problem of problems) process.stderr.write(`${problem}\n`);
process.stdout.write(`${components.length} packages in production, ${problems.length} problems\n`);
process.exitCode = problems.length === 0 ? 0 : 1;

/** An expression with a choice counts as a license of its own, which has to be looked at and listed. */
function licenseOf({ licenses = [] }: Component): string {
  const names = licenses.map(({ license, expression }) => license?.id ?? license?.name ?? expression ?? '');
  return names.length === 0 ? 'none' : names.join(' and ');
}

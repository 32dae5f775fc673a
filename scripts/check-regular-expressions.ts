import { globSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { parse } from 'acorn';
import { simple } from 'acorn-walk';
import { check } from 'recheck';

/**
 * Finds regular expressions in src that take more than linear time (https://makenowjust-labs.github.io/recheck/).
 * An expression whose input is always short may be listed here, with its input.
 */
const bounded: Readonly<Record<string, string>> = {
  '\\.lock-(.+)-\\d+$': "the name of the service's own file",
  '(\\d+)$': "the name of the service's own file",
  '^\\s*(\\d+) ': 'a table of the kernel',
};

interface Found {
  readonly file: string;
  readonly source: string;
  readonly flags: string;
}

function expressionsOf(file: string): Found[] {
  const code = stripTypeScriptTypes(readFileSync(file, 'utf8'));
  const found: Found[] = [];
  simple(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }), {
    Literal: ({ regex }: { readonly regex?: { readonly pattern: string; readonly flags: string } }) => {
      if (regex !== undefined) found.push({ file, source: regex.pattern, flags: regex.flags });
    },
  } as Parameters<typeof simple>[1]);
  return found;
}

const expressions = globSync('src/**/*.ts').sort().flatMap(expressionsOf);
let problems = 0;
for (const { file, source, flags } of expressions) {
  if (bounded[source] !== undefined) continue;
  const diagnostics = await check(source, flags, { timeout: 20_000 });
  if (diagnostics.status === 'safe') continue;
  problems++;
  const why = diagnostics.status === 'vulnerable' ? diagnostics.complexity.summary : diagnostics.error.kind;
  process.stdout.write(`${file}: /${source}/${flags} is ${diagnostics.status} (${why})\n`);
}
process.stdout.write(`${expressions.length} regular expressions, ${problems} of them not linear\n`);
process.exitCode = problems === 0 ? 0 : 1;

import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Case } from '../case.ts';
import { compareInRounds } from '../measure.ts';
import { sourceFile } from '../source-file.ts';

const tsc = sourceFile('../node_modules/.bin/tsc');
const clientFolder = sourceFile('../client');
const options = '--strict --noEmit --module nodenext --target es2022 --lib es2022,dom,dom.iterable --types';

const without = `const response = await fetch('http://127.0.0.1:8080/v3/table/books/read');
const { body } = (await response.json()) as { body: { id: string; name: string }[] };
for (const { id, name } of body) console.log(id, name);
`;
const withClient = `import { Counterfoil, CounterfoilError } from '@counterfoil/client';
const counterfoil = new Counterfoil({ url: 'http://127.0.0.1:8080' });
const payment = { processor: 'simulated', amount: 1050, currency: 'EUR', token: 'tok_paid' };
const result = await counterfoil.pay(payment).catch((error: unknown) => {
  if (error instanceof CounterfoilError && error.code === 'card_declined') return error.declineCode;
  throw error;
});
if (typeof result !== 'string' && result.status === 'succeeded') console.log(result.chargeId);
for await (const { id, name } of counterfoil.table('books').all()) console.log(id, name);
`;

/** What the types of `@counterfoil/client` cost a project that is compiled with them. */
export const clientTypes: Case = {
  name: 'client-types',
  summary: 'compiles a program that uses the client, and one with a bare fetch',

  async measure(environment, conditions) {
    const { folder } = environment;
    const home = join(folder, 'node_modules/@counterfoil/client');
    mkdirSync(home, { recursive: true });
    cpSync(join(clientFolder, 'package.json'), join(home, 'package.json'));
    await environment.run(tsc, ['-p', clientFolder, '--outDir', join(home, 'dist')]);
    const flatten = sourceFile('../scripts/flatten-declarations.ts');
    await environment.run(process.execPath, [flatten, join(home, 'dist')]);
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'without.ts'), without);
    writeFileSync(join(folder, 'with.ts'), withClient);

    const compile = (file: string) => async () => {
      const began = performance.now();
      await environment.run(tsc, [...options.split(' '), '', file]);
      return performance.now() - began;
    };
    const figures = await compareInRounds(conditions, {
      bare: compile('without.ts'),
      ours: compile('with.ts'),
    });
    return {
      rows: [
        {
          name: 'tsc of a program with the client',
          unit: 'ms',
          ours: figures.ours,
          yardstick: { name: 'the same with a bare fetch', figures: figures.bare },
          goal: { of: 'difference', side: 'most', bound: 1_000 },
        },
      ],
      remarks: [],
    };
  },
};

import { readdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Makes one file of the declarations that `tsc` wrote, `index.d.ts`: what it exports, and what that refers to. A compiler
 * opens one file, and an editor shows no file of the inside.
 *
 * Usage: node scripts/flatten-declarations.ts FOLDER
 *
 * Fails if two modules declare the same name.
 */
const [folder = 'dist'] = process.argv.slice(2);
const index = 'index.d.ts';
const modules = readdirSync(folder).filter((name) => name.endsWith('.d.ts') && name !== index);

interface Declaration {
  readonly module: string;
  readonly name: string;
  readonly text: string;
}

/** A statement begins in the first column, with its comment. */
const statementStart = /^(?=\/\*\*|(?:export|declare|import|interface|type|class)\b)/m;
/** No type refers to a function. */
const declared = /^(?:export )?(?:declare )?(?:class|interface|type|const) (\w+)/m;

function declarationsOf(module: string): Declaration[] {
  const parts = readFileSync(join(folder, module), 'utf8').split(statementStart);
  const declarations: Declaration[] = [];
  let comment = '';
  for (const part of parts) {
    if (part.startsWith('/**')) comment = part;
    else {
      const name = declared.exec(part)?.[1];
      if (name !== undefined)
        declarations.push({ module, name, text: comment + part.replace(/^export /, '') });
      comment = '';
    }
  }
  return declarations;
}

const all = new Map<string, Declaration>();
for (const declaration of modules.flatMap(declarationsOf)) {
  const { module, name, text } = declaration;
  const earlier = all.get(name);
  if (earlier !== undefined && earlier.module !== module) throw new Error(`two modules declare ${name}`);
  // A type and a constant of the same name belong together.
  all.set(name, { ...declaration, text: (earlier?.text ?? '') + text });
}

const exported = readFileSync(join(folder, index), 'utf8').replaceAll(/ from '[^']+'/g, '');
const used = new Set<string>();
const use = (text: string): void => {
  for (const [word] of text.replaceAll(/\/\*\*.*?\*\//gs, '').matchAll(/\w+/g)) {
    const declaration = all.get(word);
    if (declaration === undefined || used.has(word)) continue;
    used.add(word);
    use(declaration.text);
  }
};
use(exported);
const kept = [...all.values()].filter(({ name }) => used.has(name)).map(({ text }) => text);
for (const module of modules) unlinkSync(join(folder, module));
writeFileSync(join(folder, index), kept.join('') + exported);

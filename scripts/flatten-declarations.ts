import { readdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Makes one file for each entry of the declarations that `tsc` wrote: what it exports, and what that refers to. A compiler opens
 * that file alone, and an editor shows no file of the inside. A later entry imports what the first one exports.
 *
 * Usage: node scripts/flatten-declarations.ts FOLDER
 *
 * Fails if two modules declare the same name.
 */
const [folder = 'dist'] = process.argv.slice(2);
const index = 'index.d.ts';
const entries = [index, 'operator.d.ts'].filter((name) => readdirSync(folder).includes(name));
const modules = readdirSync(folder).filter((name) => name.endsWith('.d.ts') && !entries.includes(name));

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

const exportsOf = (entry: string) =>
  readFileSync(join(folder, entry), 'utf8').replaceAll(/ from '[^']+'/g, '');
const wordsOf = (text: string) =>
  Array.from(text.replaceAll(/\/\*\*.*?\*\//gs, '').matchAll(/\w+/g), ([word]) => word);

/** @param provided what another entry exports */
function flattened(entry: string, provided: ReadonlySet<string>): string {
  const exported = exportsOf(entry);
  const used = new Set<string>();
  const imported = new Set<string>();
  const use = (text: string): void => {
    for (const word of wordsOf(text)) {
      const declaration = all.get(word);
      if (declaration === undefined || used.has(word)) continue;
      if (provided.has(word)) imported.add(word);
      else {
        used.add(word);
        use(declaration.text);
      }
    }
  };
  use(exported);
  const kept = [...all.values()].filter(({ name }) => used.has(name)).map(({ text }) => text);
  const names = [...imported].sort().join(', ');
  const head = names === '' ? '' : `import { ${names} } from './index.js';\n`;
  return head + kept.join('') + exported;
}

const texts = entries.map(
  (entry) => [entry, flattened(entry, new Set(entry === index ? [] : wordsOf(exportsOf(index))))] as const,
);
for (const module of modules) unlinkSync(join(folder, module));
for (const [entry, text] of texts) writeFileSync(join(folder, entry), text);

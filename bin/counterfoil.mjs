#!/usr/bin/env node
// Plain JavaScript: a Node that is too old cannot read the TypeScript that would say so.
const oldest = [24, 12];
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < oldest[0] || (major === oldest[0] && minor < oldest[1])) {
  process.stderr.write(
    `counterfoil: needs Node ${oldest.join('.')} or later, and this is ${process.versions.node}\n`,
  );
  process.exit(2);
}
await import('../src/cli/counterfoil.ts');

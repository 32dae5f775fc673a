import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

/** Compresses the assets once, so that the service never has to. */
function compressed(): Plugin {
  let folder = '';
  let hasFailed = false;
  return {
    name: 'compressed',
    configResolved: ({ root, build }) => {
      folder = resolve(root, build.outDir, build.assetsDir);
    },
    buildEnd: (error) => {
      hasFailed = error !== undefined;
    },
    closeBundle: () => {
      // Otherwise the missing folder would be reported, and not why it is missing.
      if (hasFailed || !existsSync(folder)) return;
      for (const name of readdirSync(folder)) {
        const bytes = readFileSync(join(folder, name));
        writeFileSync(join(folder, `${name}.gz`), gzipSync(bytes, { level: 9 }));
        writeFileSync(join(folder, `${name}.br`), brotliCompressSync(bytes));
      }
    },
  };
}

const firstView = '/payments/payments-view.tsx';

/** Loads the first view together with the page, where it would wait until the page has run. */
function preloaded(): Plugin {
  return {
    name: 'preloaded',
    transformIndexHtml: {
      order: 'post',
      handler: (html, { bundle = {} }) => {
        const chunks = Object.values(bundle).filter((file) => file.type === 'chunk');
        const view = chunks.find(({ facadeModuleId }) => facadeModuleId?.endsWith(firstView));
        if (view === undefined) throw new Error(`no chunk is made of ${firstView}`);
        return [view.fileName, ...view.imports]
          .filter((file) => !html.includes(file))
          .map((file) => ({
            tag: 'link',
            attrs: { rel: 'modulepreload', crossorigin: true, href: `/console/${file}` },
            injectTo: 'head' as const,
          }));
      },
    },
  };
}

/** Preact in the place of React: the first view is less than half as large (docs/decisions/console.md). */
const preact = [
  { find: /^react$/, replacement: 'preact/compat' },
  { find: /^react-dom$/, replacement: 'preact/compat' },
  { find: /^react-dom\/client$/, replacement: 'preact/compat/client' },
  { find: /^react\/jsx-runtime$/, replacement: 'preact/jsx-runtime' },
];

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/console/',
  plugins: [preloaded(), compressed()],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  resolve: {
    alias: [
      ...preact,
      { find: /^@counterfoil\/client$/, replacement: clientSource('index.ts') },
      { find: '@counterfoil/client/operator', replacement: clientSource('operator.ts') },
    ],
  },
  build: {
    target: 'es2022',
    emptyOutDir: true,
    // The licenses of the bundled libraries, which must go with them.
    license: { fileName: 'licenses.md' },
    modulePreload: { polyfill: false },
    // The security policy of the page allows no data: URL.
    assetsInlineLimit: 0,
    rolldownOptions: {
      // "use client" in the libraries means nothing here.
      onLog: (level, log, handle) => {
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') handle(level, log);
      },
    },
  },
});

function clientSource(file: string): string {
  return fileURLToPath(new URL(`../client/src/${file}`, import.meta.url));
}

// @ts-check
//
// Part of `npm run build`: bundles the back office into dist/back-office. With `--watch`, again after each change.
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { context } from 'esbuild';

const SOURCE = 'back-office';
const FOLDER = 'dist/back-office';

/**
 * Returns the files that one imports at once, and what these import.
 *
 * @param {string} file
 * @param {import('esbuild').Metafile['outputs']} outputs
 * @returns {Set<string>}
 */
function partsOf(file, outputs, found = /** @type {Set<string>} */ (new Set())) {
  for (const { path: part, kind } of outputs[file]?.imports ?? []) {
    if (kind !== 'import-statement' || found.has(part)) continue;
    found.add(part);
    partsOf(part, outputs, found);
  }
  return found;
}

/**
 * Writes the page with the names that the files have now.
 *
 * @type {import('esbuild').Plugin}
 */
const page = {
  name: 'page',
  setup({ onStart, onEnd }) {
    onStart(() => rm(FOLDER, { recursive: true, force: true }));
    onEnd(async ({ errors, metafile }) => {
      if (errors.length > 0) return;
      let html = await readFile(`${SOURCE}/index.html`, 'utf8');
      const outputs = metafile?.outputs ?? {};
      for (const [file, { entryPoint }] of Object.entries(outputs)) {
        if (entryPoint !== `${SOURCE}/src/main${path.extname(file) === '.css' ? '.css' : '.tsx'}`) continue;
        html = html.replace(`"main${path.extname(file)}"`, `"${path.basename(file)}"`);
        // The browser asks for all parts of the first view at once, not for one after the other.
        const links = [...partsOf(file, outputs)].map(
          (part) => `<link rel="modulepreload" href="${path.basename(part)}" />`,
        );
        html = html.replace('</head>', `${links.join('')}</head>`);
      }
      await writeFile(`${FOLDER}/index.html`, html);
    });
  },
};

process.chdir(path.resolve(import.meta.dirname, '..'));
const builder = await context({
  entryPoints: [`${SOURCE}/src/main.tsx`, `${SOURCE}/src/main.css`],
  entryNames: '[name]-[hash]',
  chunkNames: 'part-[hash]',
  splitting: true,
  outdir: FOLDER,
  bundle: true,
  minify: true,
  charset: 'utf8',
  metafile: true,
  format: 'esm',
  target: 'es2022',
  logLevel: 'warning',
  plugins: [page],
});
if (process.argv.includes('--watch')) await builder.watch();
else {
  await builder.rebuild();
  await builder.dispose();
}

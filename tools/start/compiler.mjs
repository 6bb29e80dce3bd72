// @ts-check
import { createInterface } from 'node:readline';
import { stripVTControlCharacters } from 'node:util';
import { startGuarded } from '../support/guarded-process.mjs';

/**
 * Compiles, and compiles again after each change. It uses the Nest CLI, because the Swagger plugin works only there.
 *
 * @param {object} options
 * @param {NodeJS.ProcessEnv} options.env
 * @param {(ok: boolean) => void} options.onBuilt called after each compilation
 */
export async function startCompiler({ env, onBuilt }) {
  const args = ['node_modules/@nestjs/cli/bin/nest.js', 'build', '--watch', '--preserveWatchOutput'];
  const compiler = await startGuarded({ command: process.execPath, args, env, output: 'pipe' });
  if (!compiler.stdout) throw new Error('The compiler has no output to read.');
  createInterface({ input: compiler.stdout }).on('line', (line) => {
    const text = stripVTControlCharacters(line);
    const result = /Found (\d+) errors?\. Watching for file changes/.exec(text);
    // Success needs no output; errors are shown like the compiler shows them.
    if (result?.[1] !== '0' && text.trim() !== '' && !text.includes('Starting compilation')) {
      console.log(process.stdout.isTTY ? line : text);
    }
    if (result) onBuilt(result[1] === '0');
  });
  return compiler;
}

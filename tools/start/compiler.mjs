// @ts-check
import { EventEmitter } from 'node:events';
import { createInterface } from 'node:readline';
import { stripVTControlCharacters } from 'node:util';
import { startGuarded } from '../support/guarded-process.mjs';

/**
 * Compiles, and compiles again after each change. It uses the Nest CLI, because the Swagger plugin works only there.
 *
 * @param {NodeJS.ProcessEnv} env
 * @returns `builds` emits `built` after each compilation, and at the end of the compiler, with whether there is no error
 */
export async function startCompiler(env) {
  const args = ['node_modules/@nestjs/cli/bin/nest.js', 'build', '--watch', '--preserveWatchOutput'];
  const compiler = await startGuarded({ command: process.execPath, args, env, output: 'pipe' });
  if (!compiler.stdout) throw new Error('The compiler has no output to read.');
  /** @type {EventEmitter<{ built: [ok: boolean] }>} */
  const builds = new EventEmitter();
  createInterface({ input: compiler.stdout }).on('line', (line) => {
    const text = stripVTControlCharacters(line);
    const result = /Found (\d+) errors?\. Watching for file changes/.exec(text);
    // Success needs no output; errors are shown like the compiler shows them.
    if (result?.[1] !== '0' && text.trim() !== '' && !text.includes('Starting compilation')) {
      console.log(process.stdout.isTTY ? line : text);
    }
    if (result) builds.emit('built', result[1] === '0');
  });
  void compiler.exited.then(() => builds.emit('built', false));
  return { builds, end: compiler.end };
}

// @ts-check
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { commandLineOf, isAlive } from '../support/processes.mjs';

/**
 * Makes sure that only one `npm start` works in this folder: two would share a build and a data folder.
 * A lock whose owner is gone, or whose number belongs to something else by now, is taken over.
 *
 * @param {string} folder
 * @returns {Promise<() => void>} lets the lock go
 * @throws if another one runs; the message names it
 */
export async function takeLock(folder) {
  const file = path.join(folder, 'start.pid');
  mkdirSync(folder, { recursive: true });
  for (;;) {
    try {
      writeFileSync(file, String(process.pid), { flag: 'wx' });
      return () => rmSync(file, { force: true });
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
    }
    const owner = Number(readFileSync(file, 'utf8'));
    if (owner > 1 && isAlive(owner) && (await commandLineOf(owner)).includes('tools/start.mjs')) {
      throw new Error(`"npm start" is already running in this folder, as process ${owner}. Stop it first (Ctrl-C there).`);
    }
    rmSync(file, { force: true });
  }
}

// @ts-check
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { isAlive, startTimeOf } from '../support/processes.mjs';

/**
 * Makes sure that only one `npm start` works in this folder: two would share a build and a data folder.
 * A lock whose owner is gone is taken over. In a container that was started anew, its number is soon another
 * process's, even our own: the time at which it started tells them apart.
 *
 * @param {string} folder
 * @returns {Promise<() => void>} lets the lock go
 * @throws if another one runs; the message names it
 */
export async function takeLock(folder) {
  const file = path.join(folder, 'start.pid');
  mkdirSync(folder, { recursive: true });
  const ourselves = `${process.pid} ${await startTimeOf(process.pid)}`;
  for (;;) {
    try {
      writeFileSync(file, ourselves, { flag: 'wx' });
      return () => rmSync(file, { force: true });
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
    }
    const [owner, ...startTime] = readFileSync(file, 'utf8').split(' ');
    const pid = Number(owner);
    if (pid > 1 && isAlive(pid) && (await startTimeOf(pid)) === startTime.join(' ')) {
      throw new Error(
        `"npm start" is already running in this folder, as process ${pid}. Stop it first (Ctrl-C there).`,
      );
    }
    rmSync(file, { force: true });
  }
}

// @ts-check
import { once } from 'node:events';
import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

/**
 * Ensures that only one `npm start` runs in this folder: two would share a build and a data folder. The lock is a
 * listening socket, so the operating system releases it when the process exits.
 *
 * @param {string} folder
 * @returns {Promise<() => void>} releases the lock
 * @throws if another one is running
 */
export async function takeLock(folder) {
  const file = path.join(tmpdir(), `cashback-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}.sock`);
  const probe = connect(file);
  const isTaken = await once(probe, 'connect').then(
    () => true,
    () => false,
  );
  probe.destroy();
  if (isTaken) throw new Error('"npm start" is already running in this folder. Stop it first (Ctrl-C there).');
  rmSync(file, { force: true });
  const lock = createServer().listen(file).unref();
  await once(lock, 'listening');
  return () => lock.close();
}

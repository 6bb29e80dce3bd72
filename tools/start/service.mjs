// @ts-check
import { startGuarded, untilReady } from '../support/guarded-process.mjs';

/** How long the service may take to finish the requests under way. */
const GRACE_MS = 15_000;

/**
 * Runs the built service, and restarts it on demand. The old process exits before the new one starts, because both use
 * the same port.
 *
 * @param {{ env: NodeJS.ProcessEnv, port: number, say: (line: string) => void }} options
 */
export function createService({ env, port, say }) {
  let current = /** @type {import('../support/guarded-process.mjs').Guarded | undefined} */ (undefined);
  let stopping = false;

  const stop = async () => {
    stopping = true;
    await current?.end(GRACE_MS);
  };

  const start = async () => {
    stopping = false;
    const args = ['--enable-source-maps', 'dist/src/main.js'];
    const started = await startGuarded({ command: process.execPath, args, env, output: 'inherit' });
    current = started;
    void started.exited.then((code) => {
      if (!stopping) say(`The service exited with code ${code}.`);
    });
  };

  /** Waits until it is ready. Returns false if it exits before that or takes too long. */
  const isReady = async () => current !== undefined && untilReady(`http://localhost:${port}`, current);

  return { start, stop, isReady };
}

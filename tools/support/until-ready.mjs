// @ts-check
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waits until a service is ready; false if it ends before that, or takes more than a minute.
 *
 * @param {string} url
 * @param {import('./guarded-process.mjs').Guarded} running
 * @param {string} [path] answers with 2xx when it is ready
 */
export async function untilReady(url, running, path = '/health/ready') {
  const deadline = Date.now() + 60_000;
  while (!running.hasExited() && Date.now() < deadline) {
    const asked = fetch(`${url}${path}`, { signal: AbortSignal.timeout(2_000) });
    // It does not listen at first.
    if (await asked.then((answer) => answer.ok).catch(() => false)) return true;
    await sleep(20);
  }
  return false;
}

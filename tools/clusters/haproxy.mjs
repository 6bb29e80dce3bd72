// @ts-check
import { fileURLToPath } from 'node:url';
import { startGuarded } from '../support/guarded-process.mjs';
import { findFreePort } from '../support/ports.mjs';
import { run } from '../support/processes.mjs';

const CONFIGURATION = fileURLToPath(new URL('../../ops/haproxy.cfg', import.meta.url));

/** Whether the program is on this machine. */
export async function hasHaproxy() {
  return (await run('haproxy', ['-v'], { timeoutMs: 10_000 })).ok;
}

/**
 * Runs HAProxy with `ops/haproxy.cfg` on 127.0.0.1.
 *
 * @param {string[]} urls of three database servers
 * @returns {Promise<{ url: string, stop: () => Promise<void> }>} the URL of the server that accepts writes
 */
export async function startHaproxy(urls) {
  const port = await findFreePort();
  const env = { ...process.env, DATABASE_LISTEN: `127.0.0.1:${port}` };
  for (const [at, url] of urls.entries()) Object.assign(env, { [`DATABASE_NODE_${at + 1}`]: new URL(url).host });
  const running = await startGuarded({
    command: 'haproxy',
    args: ['-db', '-f', CONFIGURATION],
    env,
    output: 'inherit',
  });
  const url = new URL(urls[0] ?? '');
  url.port = String(port);
  return { url: url.href, stop: () => running.end(1000) };
}

// @ts-check
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startGuarded } from '../support/guarded-process.mjs';
import { findFreePort, isListening } from '../support/ports.mjs';
import { makeTempFolder, PROJECT, run, tail } from '../support/processes.mjs';

/** HAPROXY names the program on a machine that has several versions of it. */
const PROGRAM = process.env['HAPROXY'] ?? 'haproxy';
const DATABASE = path.join(PROJECT, 'ops/haproxy.cfg');
const EDGE = path.join(PROJECT, 'ops/edge.cfg');
const START_MS = 10_000;

/** Whether the program is on this machine. */
export async function hasHaproxy() {
  return (await run(PROGRAM, ['-v'], { timeoutMs: 10_000 })).ok;
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
  const running = await startGuarded({ command: PROGRAM, args: ['-db', '-f', DATABASE], env, output: 'inherit' });
  const url = new URL(urls[0] ?? '');
  url.port = String(port);
  return { url: url.href, stop: () => running.end(1000) };
}

/**
 * Asks HAProxy whether `ops/edge.cfg` is valid.
 *
 * @param {Record<string, string>} variables of `ops/edge.cfg`
 */
export function checkEdge(variables) {
  return run(PROGRAM, ['-c', '-V', '-f', EDGE], { env: { ...process.env, ...variables } });
}

/** @typedef {Awaited<ReturnType<typeof startEdge>>} Edge */

/**
 * Runs HAProxy with `ops/edge.cfg` on 127.0.0.1, and waits until it listens.
 *
 * @param {string[]} urls of one to three instances of the service
 * @param {Record<string, string>} [variables] of `ops/edge.cfg`
 * @param {string[]} [args] of HAProxy
 */
export async function startEdge(urls, variables = {}, args = ['-db', '-f', EDGE]) {
  const port = await findFreePort();
  const env = { ...process.env, EDGE_LISTEN: `127.0.0.1:${port}`, ...variables };
  for (const [at, url] of urls.entries())
    Object.assign(env, { [at === 0 ? 'SERVICE_ADDRESS' : `SERVICE_ADDRESS_${at + 1}`]: new URL(url).host });
  const folder = makeTempFolder('cashback-edge');
  const file = path.join(folder, 'log');
  const output = { file };
  const running = await startGuarded({ command: PROGRAM, args, env, output, litter: folder });
  /** What HAProxy has written so far. */
  const log = () => readFileSync(file, 'utf8');
  const stop = async () => {
    await running.end(1000);
    rmSync(folder, { recursive: true, force: true });
  };
  for (const deadline = Date.now() + START_MS; !(await isListening(port)); await sleep(20)) {
    if (!running.hasExited() && Date.now() < deadline) continue;
    const said = tail(log());
    await stop();
    throw new Error(`HAProxy does not listen:\n${said}`);
  }
  const scheme = 'EDGE_CERTIFICATE' in variables ? 'https' : 'http';
  return { url: `${scheme}://127.0.0.1:${port}`, pid: running.pid, log, stop };
}

// @ts-check
import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** The folder of the project, from any working directory. */
export const PROJECT = path.resolve(import.meta.dirname, '../..');

/**
 * Runs a command until it exits, without a terminal or input, and returns its output. A command that does not exist or
 * takes longer than `timeoutMs` has failed; nothing is thrown.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {{ timeoutMs?: number, env?: NodeJS.ProcessEnv }} [options]
 * @returns {Promise<{ ok: boolean, output: string }>} `output` is stdout and stderr in the order of arrival
 */
export function run(command, args, { timeoutMs = 60_000, env = process.env } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env,
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    });
    let output = '';
    child.stdout.on('data', (/** @type {Buffer} */ chunk) => (output += chunk.toString()));
    child.stderr.on('data', (/** @type {Buffer} */ chunk) => (output += chunk.toString()));
    child.once('error', (error) => resolve({ ok: false, output: `${output}${error.message}\n` }));
    child.once('close', (code, signal) => {
      const late = signal === 'SIGKILL' ? `\n${command} did not exit within ${timeoutMs / 1000} s\n` : '';
      resolve({ ok: code === 0, output: output + late });
    });
  });
}

/**
 * Returns the last lines of a text, for messages that show only the end of a log.
 *
 * @param {string} text
 * @param {number} [lines]
 */
export function tail(text, lines = 15) {
  return text.trimEnd().split('\n').slice(-lines).join('\n');
}

/** @param {unknown} error */
export function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Creates an empty temporary folder. Its path is short enough for a socket in it, which is limited to about 100 bytes.
 *
 * @param {string} name says in the list of temporary folders what it is
 * @param {string} [parent]
 */
export function makeTempFolder(name, parent = tmpdir().length < 60 ? tmpdir() : '/tmp') {
  return mkdtempSync(path.join(parent, `${name}-`));
}

/**
 * Calls back when this process is to end: after a signal, or when the npm that started it has exited. When npm gets a
 * signal, only the shell between npm and this process receives it.
 *
 * @param {() => void} interrupt may be called several times
 */
export function onInterrupt(interrupt) {
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) process.on(signal, interrupt);
  if (!process.env['npm_lifecycle_event']) return;
  const parent = process.ppid;
  const check = () => {
    if (process.ppid === parent) setTimeout(check, 300).unref();
    else interrupt();
  };
  check();
}

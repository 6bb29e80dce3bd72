// @ts-check
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Runs a command to its end, without a terminal and without input, and keeps what it printed.
 * A command that does not exist, or that takes longer than `timeoutMs`, counts as failed: nothing is thrown.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {{ timeoutMs?: number, env?: NodeJS.ProcessEnv }} [options]
 * @returns {Promise<{ ok: boolean, output: string }>} `output` is stdout and stderr as they came
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
      const late = signal === 'SIGKILL' ? `\n${command} did not end within ${timeoutMs / 1000} s\n` : '';
      resolve({ ok: code === 0, output: output + late });
    });
  });
}

/**
 * The last lines of a text, for messages that should show a log's end and no more.
 *
 * @param {string} text
 * @param {number} [lines]
 */
export function tail(text, lines = 15) {
  return text.trimEnd().split('\n').slice(-lines).join('\n');
}

/**
 * Waits until the kernel has stopped every thread of a process that was sent SIGSTOP. On another processor one may
 * run on for a moment, long enough to answer a query.
 *
 * @param {number} pid
 */
export async function untilStopped(pid) {
  const runs = (/** @type {string} */ thread) =>
    !/^State:\s*[TZ]/m.test(readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8'));
  for (let attempt = 0; attempt < 50; attempt += 1) {
    await sleep(20);
    try {
      if (!readdirSync(`/proc/${pid}/task`).some(runs)) return;
    } catch {
      // Only Linux has /proc, and a thread may end while we look: the wait itself has to do.
    }
  }
}

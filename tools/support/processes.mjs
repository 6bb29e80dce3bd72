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
 * @returns {string}
 */
export function tail(text, lines = 15) {
  return text.trimEnd().split('\n').slice(-lines).join('\n');
}

/**
 * Whether a process with this id runs. One that belongs to another user does too; one that has ended does not, even
 * if nobody has collected it yet, which in a container may never happen.
 *
 * @param {number} pid
 * @returns {boolean}
 */
export function isAlive(pid) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
  try {
    return !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return true;
  }
}

/**
 * The command line of a process, its arguments separated by blanks; empty if there is none.
 * Linux tells it in /proc, without `ps`, which minimal systems lack.
 *
 * @param {number} pid
 * @returns {Promise<string>}
 */
export async function commandLineOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    const { ok, output } = await run('ps', ['-o', 'command=', '-p', String(pid)], { timeoutMs: 5_000 });
    return ok ? output.trim() : '';
  }
}

/**
 * When a process started, in whatever form the system tells it: only good for comparing. Empty if there is none.
 *
 * @param {number} pid
 * @returns {Promise<string>}
 */
export async function startTimeOf(pid) {
  try {
    // The command's name, in parentheses, may hold blanks; the start time is the 20th field after it.
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').pop()?.split(' ')[19] ?? '';
  } catch {
    const { ok, output } = await run('ps', ['-o', 'lstart=', '-p', String(pid)], { timeoutMs: 5_000 });
    return ok ? output.trim() : '';
  }
}

/**
 * Asks a process to end, and makes it end if it has not within the time.
 *
 * @param {number} pid
 * @param {number} graceMs
 */
export async function endProcess(pid, graceMs) {
  const deadline = Date.now() + graceMs;
  process.kill(pid, 'SIGTERM');
  while (isAlive(pid) && Date.now() < deadline) await sleep(100);
  if (isAlive(pid)) process.kill(pid, 'SIGKILL');
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

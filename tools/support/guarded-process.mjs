// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A shell that starts a command, prints its process ID, and then waits. If the command exits, the shell exits too. If the
 * input of the shell closes, the process that wanted the command is gone (even if it was killed): then the shell stops
 * the command and removes its temporary folder. A process that was paused with SIGSTOP gets SIGTERM only after SIGCONT.
 */
const GUARD = `
owner=$PPID litter=$1; shift
exec 4<&0
"$@" </dev/null 3>&- 4<&- &
guarded=$!
echo "$guarded" >&3
exec 3>&-
( cat <&4 >/dev/null; kill -TERM "$guarded"; kill -CONT "$guarded" ) >/dev/null 2>&1 &
watcher=$!
exec 4<&- 2>/dev/null
wait "$guarded"; status=$?
kill "$watcher"
if [ -n "$litter" ] && ! kill -0 "$owner"; then rm -rf -- "$litter"; fi
exit "$status"
`;

/**
 * @typedef {object} Guarded
 * @property {number} pid of the command itself
 * @property {Promise<number | null>} exited its exit code; greater than 128 after a signal
 * @property {() => boolean} hasExited
 * @property {(graceMs: number) => Promise<void>} end sends SIGTERM, then SIGKILL after that time, and waits
 * @property {() => Promise<void>} kill SIGKILL: like a crash, except that the kernel keeps what was written
 * @property {() => Promise<void>} pause SIGSTOP: connections stay open and nothing answers
 * @property {() => void} resume SIGCONT
 * @property {import('node:stream').Readable | null} stdout with `output: 'pipe'`
 */

/**
 * Starts a command that cannot outlive this process. It has its own session, so that Ctrl-C in the terminal reaches only
 * this process: the service must be able to finish its requests before its database stops.
 *
 * @param {object} options
 * @param {string} options.command
 * @param {string[]} options.args
 * @param {NodeJS.ProcessEnv} [options.env]
 * @param {{ file: string } | 'inherit' | 'pipe'} options.output where its output goes: to the end of a file, to that of this
 *   process, or to `stdout` (its errors to those of this process)
 * @param {string} [options.litter] a temporary folder to remove if this process is killed
 */
export async function startGuarded({ command, args, env = process.env, output, litter = '' }) {
  const target = typeof output === 'string' ? output : openSync(output.file, 'a');
  const guard = spawn('/bin/sh', ['-c', GUARD, 'guard', litter, command, ...args], {
    detached: true,
    stdio: ['pipe', target, target === 'pipe' ? 'inherit' : target, 'pipe'],
    env,
  });
  if (typeof target === 'number') closeSync(target);
  await once(guard, 'spawn');
  const hasExited = () => guard.exitCode !== null || guard.signalCode !== null;
  /** @type {Promise<number | null>} */
  const exited = once(guard, 'exit').then(([code]) => {
    guard.stdin?.destroy();
    return code;
  });
  const [line] = await once(/** @type {import('node:stream').Readable} */ (guard.stdio[3]), 'data');
  const pid = Number(line);
  return { pid, exited, hasExited, stdout: guard.stdout, ...controlsOf(pid, exited, hasExited) };
}

/** @param {number} pid @param {Promise<unknown>} exited @param {() => boolean} hasExited */
function controlsOf(pid, exited, hasExited) {
  const signal = (/** @type {NodeJS.Signals} */ name) => {
    if (hasExited()) return;
    try {
      process.kill(pid, name);
    } catch (error) {
      // It has exited, and the guard has not reported it yet.
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error;
    }
  };
  return {
    end: async (/** @type {number} */ graceMs) => {
      signal('SIGTERM');
      signal('SIGCONT');
      const tooLate = setTimeout(() => signal('SIGKILL'), graceMs);
      await exited;
      clearTimeout(tooLate);
    },
    kill: async () => {
      signal('SIGKILL');
      await exited;
    },
    pause: async () => {
      signal('SIGSTOP');
      await untilStopped(pid);
    },
    resume: () => signal('SIGCONT'),
  };
}

/**
 * Waits until the kernel has stopped every thread of a process after SIGSTOP. On another processor a thread may
 * continue for a moment, long enough to answer a query.
 *
 * @param {number} pid
 */
async function untilStopped(pid) {
  const runs = (/** @type {string} */ thread) =>
    !/^State:\s*[TZ]/m.test(readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8'));
  for (let attempt = 0; attempt < 50; attempt += 1) {
    await sleep(20);
    try {
      if (!readdirSync(`/proc/${pid}/task`).some(runs)) return;
    } catch {
      // Only Linux has /proc, and a thread may exit meanwhile. Then only the pause above applies.
    }
  }
}

/**
 * Waits until a service is ready. Returns false if it exits before that or takes more than a minute.
 *
 * @param {string} url
 * @param {Guarded} running
 * @param {string} [path] returns 2xx when it is ready
 */
export async function untilReady(url, running, path = '/health/ready') {
  const deadline = Date.now() + 60_000;
  while (!running.hasExited() && Date.now() < deadline) {
    const asked = fetch(`${url}${path}`, { signal: AbortSignal.timeout(2_000) });
    // At first it does not listen.
    if (await asked.then((answer) => answer.ok).catch(() => false)) return true;
    await sleep(20);
  }
  return false;
}

// @ts-check
import { spawn } from 'node:child_process';

/**
 * The guard: a shell that starts a command, says its process id, and then waits for either of two things. If the
 * command ends, so does the guard. If the guard's input closes, the process that asked for the command is gone
 * (however it went, SIGKILL included), and the guard stops the command and removes what would be left behind.
 * A server that was frozen with SIGSTOP only sees the SIGTERM after a SIGCONT.
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
 * @property {Promise<number | null>} exited its exit code; over 128 if a signal ended it
 * @property {() => boolean} hasExited
 * @property {(name: NodeJS.Signals) => void} signal does nothing once it has ended
 * @property {(graceMs: number) => Promise<void>} end asks it to end, makes it end after that time, and waits
 * @property {import('node:stream').Readable | null} stdout with `output: 'pipe'`
 */

/**
 * Starts a command that cannot outlive this process. It gets a session of its own, so that Ctrl-C in the terminal
 * reaches only us: the service must be able to finish its requests before its database goes.
 *
 * @param {object} options
 * @param {string} options.command
 * @param {string[]} options.args
 * @param {NodeJS.ProcessEnv} [options.env]
 * @param {number | 'inherit' | 'pipe'} options.output where its output goes: an open file, our own, or `stdout` (errors to our own)
 * @param {string} [options.litter] a folder that is of no use to anyone once this process is gone
 */
export async function startGuarded({ command, args, env = process.env, output, litter = '' }) {
  const guard = spawn('/bin/sh', ['-c', GUARD, 'guard', litter, command, ...args], {
    detached: true,
    stdio: ['pipe', output, output === 'pipe' ? 'inherit' : output, 'pipe'],
    env,
  });
  let hasExited = false;
  /** @type {Promise<number | null>} */
  const exited = new Promise((resolve) => {
    guard.once('exit', (code) => {
      hasExited = true;
      guard.stdin?.destroy();
      resolve(code);
    });
    guard.once('error', () => resolve(null));
  });
  /** @type {number} */
  const pid = await new Promise((resolve, reject) => {
    guard.once('error', reject);
    guard.stdio[3]?.once('data', (/** @type {Buffer} */ line) => resolve(Number(line.toString())));
  });
  const signal = (/** @type {NodeJS.Signals} */ name) => {
    if (hasExited) return;
    try {
      process.kill(pid, name);
    } catch (error) {
      // It has ended, and the guard has not yet told us so.
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error;
    }
  };
  const end = async (/** @type {number} */ graceMs) => {
    signal('SIGTERM');
    signal('SIGCONT');
    const tooLate = setTimeout(() => signal('SIGKILL'), graceMs);
    await exited;
    clearTimeout(tooLate);
  };
  return { pid, exited, hasExited: () => hasExited, signal, end, stdout: guard.stdout };
}

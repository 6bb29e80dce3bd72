// @ts-check
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';

/**
 * The guard: a shell that starts the server, says its process id, and then waits for either of two things. If the
 * server ends, so does the guard. If its input closes, the process that asked for the server is gone (however it
 * went, SIGKILL included), and the guard stops the server and removes what would be left behind.
 * A server that was frozen with SIGSTOP only sees the SIGTERM once it may run again, hence the SIGCONT.
 */
const GUARD = `
owner=$PPID litter=$1; shift
exec 3<&0
"$@" </dev/null >&2 3<&- &
server=$!
echo "$server"
exec >&-
( cat <&3 >/dev/null; kill -TERM "$server"; kill -CONT "$server" ) 2>/dev/null &
watcher=$!
exec 3<&-
wait "$server"; status=$?
kill "$watcher" 2>/dev/null
if [ -n "$litter" ] && ! kill -0 "$owner" 2>/dev/null; then rm -rf -- "$litter"; fi
exit "$status"
`;

/**
 * Starts a server that cannot outlive this process. It gets a session of its own, so that Ctrl-C in the terminal
 * reaches only us: the service must be able to finish its requests before its database goes.
 *
 * @param {object} options
 * @param {string} options.command
 * @param {string[]} options.args
 * @param {string} options.logFile where the server's output is appended
 * @param {string} [options.litter] a folder that is of no use to anyone once this process is gone
 * @returns {Promise<{ pid: number, exited: Promise<number | null>, hasExited(): boolean }>}
 */
export async function startGuarded({ command, args, logFile, litter = '' }) {
  const log = openSync(logFile, 'a');
  const guard = spawn('/bin/sh', ['-c', GUARD, 'database-guard', litter, command, ...args], {
    detached: true,
    stdio: ['pipe', 'pipe', log],
    env: { ...process.env, LC_ALL: 'C' },
  });
  closeSync(log);
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
  const pid = await new Promise((resolve, reject) => {
    guard.once('error', reject);
    guard.stdout?.once('data', (/** @type {Buffer} */ line) => resolve(Number(line.toString())));
  });
  return { pid, exited, hasExited: () => hasExited };
}

// @ts-check
//
// The code of a ComparisonThread: it receives a password and a hash, and replies whether they match. It is plain
// JavaScript because Node must be able to run the file without a build, also from the source tree in tests.
import { readlinkSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import bcrypt from 'bcrypt';

/**
 * The niceness relative to the rest of the service: on a busy core the thread gets 10 % of it. At 15 or more, a
 * comparison can exceed its request's deadline on a busy core, without a benefit to orders.
 */
const NICENESS = 10;

lowerPriority();
parentPort?.on('message', (/** @type {{ password: string, hash: string }} */ { password, hash }) => {
  parentPort?.postMessage(bcrypt.compareSync(password, hash));
});

/**
 * Lowers the priority of this thread only: Linux accepts a thread id in place of a process id. The new priority is
 * relative to the current one, because the service may run at a low priority already and an unprivileged process can't
 * raise it.
 */
function lowerPriority() {
  try {
    const [processId, , threadId = NaN] = readlinkSync('/proc/thread-self').split('/').map(Number);
    // If /proc belongs to another PID namespace, the id is another thread's here.
    if (processId === process.pid)
      setPriority(threadId, Math.min(getPriority(threadId) + NICENESS, constants.priority.PRIORITY_LOW));
  } catch {
    // Not Linux, or not permitted: logins at normal priority are better than none.
  }
}

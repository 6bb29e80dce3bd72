// @ts-check
//
// What a ComparisonThread runs: it gets a password and a hash, and says whether they belong together. It is plain
// JavaScript, as a thread starts from a file that Node can run as it stands, in the tests' source tree too.
import { readlinkSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import bcrypt from 'bcrypt';

/**
 * How much nicer than the rest of the service: it gets a tenth of a core that somebody else always wants too. From 15 on, a
 * comparison can outlast the deadline of its request there, and orders gain nothing more.
 */
const NICENESS = 10;

stepBack();
parentPort?.on('message', (/** @type {{ password: string, hash: string }} */ { password, hash }) => {
  parentPort?.postMessage(bcrypt.compareSync(password, hash));
});

/**
 * Lowers the priority of this thread alone: Linux takes a thread's id where others know only processes. From where it is,
 * as the whole service may have been started with a low one, and nobody may raise it again.
 */
function stepBack() {
  try {
    const [processId, , threadId = NaN] = readlinkSync('/proc/thread-self').split('/').map(Number);
    // Where /proc shows another namespace of processes, the id means some other thread here.
    if (processId === process.pid)
      setPriority(threadId, Math.min(getPriority(threadId) + NICENESS, constants.priority.PRIORITY_LOW));
  } catch {
    // Not Linux, or not allowed here: log-ins at the usual priority are better than none.
  }
}

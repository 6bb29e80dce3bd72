// @ts-check
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { startGuarded } from '../support/guarded-process.mjs';
import { findFreePort } from '../support/ports.mjs';
import { makeTempFolder, run, tail } from '../support/processes.mjs';
import { createDatabase, DATABASE_NAME, waitUntilReady } from './connection.mjs';

/** The same image as in compose.yaml. */
const IMAGE = 'mysql:8.4';

/** Whether a Docker engine answers. A client without an engine is common, and so is an engine that is asleep. */
export async function findEngine() {
  const { ok, output } = await run('docker', ['version', '--format', '{{.Server.Version}}'], { timeoutMs: 5_000 });
  if (ok) return { version: output.trim() };
  return { reason: output.includes('ENOENT') ? 'there is no docker client' : tail(output, 1) };
}

/**
 * Runs MySQL in a container that is removed at its end. `docker run` stays in the foreground under the guard of all
 * our servers and hands signals on, so that the container cannot outlive this process either.
 *
 * @param {object} options
 * @param {string} options.name of the container; one of the same name that an earlier run left is removed
 * @param {string} [options.volume] where the data is kept; without it, in memory
 * @param {(line: string) => void} options.say
 * @throws if the image can't be had or the server does not start; the message ends with what Docker said
 */
export async function startContainer({ name, volume, say }) {
  await pullImage(say);
  await run('docker', ['rm', '--force', name]);
  const port = await findFreePort();
  const folder = makeTempFolder('cashback-docker');
  const file = path.join(folder, 'server.log');
  const args = containerOptions(name, port, volume);
  const running = await startGuarded({ command: 'docker', args, output: { file }, litter: folder });
  const stop = async () => {
    if (!running.hasExited()) await run('docker', ['stop', '--time', '20', name], { timeoutMs: 40_000 });
    await running.kill();
    rmSync(folder, { recursive: true, force: true });
  };
  const serverUrl = `mysql://root@127.0.0.1:${port}/`;
  try {
    const version = await waitUntilReady(serverUrl, { timeoutMs: 120_000, hasExited: running.hasExited });
    await createDatabase(serverUrl);
    return { url: serverUrl + DATABASE_NAME, version, stop };
  } catch (error) {
    const said = tail(readFileSync(file, 'utf8'));
    await stop();
    throw new Error(`the container ${name} did not come up (${String(error)}):\n${said}`, { cause: error });
  }
}

/** @param {string} name @param {number} port @param {string | undefined} volume */
function containerOptions(name, port, volume) {
  const storage = volume ? ['--volume', `${volume}:/var/lib/mysql`] : ['--tmpfs', '/var/lib/mysql:rw,size=2g'];
  const server = ['--max-connections=500', '--skip-log-bin'];
  const fast = volume ? [] : ['--innodb-flush-log-at-trx-commit=0', '--innodb-doublewrite=0'];
  const published = ['--publish', `127.0.0.1:${port}:3306`, '--env', 'MYSQL_ALLOW_EMPTY_PASSWORD=yes'];
  return ['run', '--rm', '--name', name, ...published, ...storage, IMAGE, ...server, ...fast];
}

/**
 * Fetches the image unless it is there: that may take minutes, and should not look like a server that hangs.
 *
 * @param {(line: string) => void} say
 */
async function pullImage(say) {
  const present = await run('docker', ['image', 'inspect', IMAGE], { timeoutMs: 10_000 });
  if (present.ok) return;
  say(`Fetching the image ${IMAGE} (once)`);
  const { ok, output } = await run('docker', ['pull', '--quiet', IMAGE], { timeoutMs: 600_000 });
  if (!ok) throw new Error(`docker pull ${IMAGE} failed: ${tail(output, 3)}`);
}

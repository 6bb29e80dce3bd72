// @ts-check
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { findFreePort } from '../support/ports.mjs';
import { startGuarded } from '../support/guarded-process.mjs';
import { makeTempFolder, tail } from '../support/processes.mjs';
import { createDatabase, DATABASE_NAME, waitUntilReady } from './connection.mjs';
import { findServers, initialiseDataFolder, userOption } from './server-binary.mjs';

/** @typedef {Awaited<ReturnType<typeof startPrivateServer>>} PrivateServer a running server of our own */

/** Tests delete their data, so they do not wait for the disk. */
const FAST_OPTIONS = ['--innodb-flush-log-at-trx-commit=0', '--innodb-doublewrite=0'];

/** How long a shutdown may take before the server is killed. */
const STOP_GRACE_MS = 20_000;

/**
 * Runs a MySQL or MariaDB server on loopback with its own data folder, without the configuration files of the machine.
 * The folder is initialized on first use. After `stop()` or `kill()`, the same folder and port can be started again. The
 * server stops when this process exits, even if it is killed.
 *
 * @param {object} settings
 * @param {string} settings.dataDir
 * @param {number} [settings.port] a free one if left out
 * @param {boolean} [settings.durable] false is faster, and may lose the commits of one second when the server is killed
 * @param {string[]} [settings.options] more options of the server's command line
 * @param {NodeJS.ProcessEnv} [settings.env] of the server
 * @param {string[]} [settings.command] what to put before the server's command
 * @param {boolean} [settings.createsSchema] false for a node of a cluster, which gets the schema from the cluster
 * @param {string} [settings.litter] a temporary folder around `dataDir`, removed if this process is killed
 * @param {import('./server-binary.mjs').ServerBinary} [settings.server] the first on this machine if left out
 * @returns its URL with the schema `cashback`, whose scheme tells MySQL from MariaDB, and its version, such as "MariaDB
 *   10.11.14"; `stop` is an orderly shutdown, the other functions are those of `startGuarded`
 * @throws if there is no server on this machine, or it does not start; the message ends with its log
 */
export async function startPrivateServer(settings) {
  const { dataDir, durable = true, options = [], createsSchema = true, litter } = settings;
  const server = settings.server ?? (await findServers())[0];
  if (!server) throw new Error('There is no mysqld or mariadbd on this machine, and LOCAL_MYSQLD names none.');
  const folder = path.resolve(dataDir);
  await initialiseDataFolder(server, folder);

  const port = settings.port ?? (await findFreePort());
  const socketFolder = litter ? mkdtempSync(path.join(litter, 'socket-')) : makeTempFolder('cashback-socket');
  const file = path.join(folder, 'server.log');
  const args = serverOptions(server, folder, port, socketFolder).concat(durable ? [] : FAST_OPTIONS, options);
  const env = { ...(settings.env ?? process.env), LC_ALL: 'C' };
  const [command = server.file, ...before] = [...(settings.command ?? []), server.file];
  const guarding = { command, args: [...before, ...args], env, output: { file }, litter: litter ?? socketFolder };
  const { exited, hasExited, end, kill, pause, resume } = await startGuarded(guarding);
  void exited.then(() => rmSync(socketFolder, { recursive: true, force: true }));

  const stop = () => end(STOP_GRACE_MS);
  const serverUrl = `${server.flavour}://root@127.0.0.1:${port}/`;
  try {
    const version = await waitUntilReady(serverUrl, { timeoutMs: 60_000, hasExited });
    if (createsSchema) await createDatabase(serverUrl);
    return { url: serverUrl + DATABASE_NAME, version, port, stop, kill, pause, resume };
  } catch (error) {
    await stop();
    const said = tail(readFileSync(file, 'utf8'));
    throw new Error(`${server.file} did not start (${String(error)}):\n${said}`, { cause: error });
  }
}

/**
 * The server's command line. `--no-defaults` has to be the first option.
 *
 * @param {import('./server-binary.mjs').ServerBinary} server
 * @param {string} folder
 * @param {number} port
 * @param {string} socketFolder
 */
function serverOptions({ flavour }, folder, port, socketFolder) {
  return [
    '--no-defaults',
    ...userOption(),
    `--datadir=${folder}`,
    `--port=${port}`,
    '--bind-address=127.0.0.1',
    `--socket=${path.join(socketFolder, 'server.sock')}`,
    `--pid-file=${path.join(folder, 'server.pid')}`,
    // A server that starts deletes the temporary tables that it finds there, also those of another server.
    `--tmpdir=${socketFolder}`,
    '--max-connections=500',
    '--skip-log-bin',
    // MySQL would listen on a second port for its X protocol, and wants a folder for LOAD DATA that exists.
    ...(flavour === 'mysql' ? ['--mysqlx=OFF', '--secure-file-priv=NULL'] : []),
  ];
}

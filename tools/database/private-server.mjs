// @ts-check
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { findFreePort } from '../support/ports.mjs';
import { startGuarded } from '../support/guarded-process.mjs';
import { makeTempFolder, tail, untilStopped } from '../support/processes.mjs';
import { createDatabase, DATABASE_NAME, waitUntilReady } from './connection.mjs';
import { findServers, initialiseDataFolder, userOption } from './server-binary.mjs';

/**
 * A running server of our own.
 *
 * @typedef {object} PrivateServer
 * @property {string} url with the schema `cashback`; the scheme tells MySQL from MariaDB
 * @property {string} version such as "MariaDB 10.11.14"
 * @property {number} port on 127.0.0.1
 * @property {number} pid
 * @property {() => Promise<void>} stop an orderly shutdown; does nothing if it has exited
 * @property {() => Promise<void>} kill SIGKILL: like a crash, except that the kernel keeps what was written
 * @property {() => Promise<void>} pause SIGSTOP: connections stay open and nothing answers
 * @property {() => void} resume SIGCONT
 */

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
 * @param {boolean} [settings.createsSchema] false for a node of a cluster, which gets the schema from the cluster
 * @param {string} [settings.litter] a temporary folder around `dataDir`, removed if this process is killed
 * @param {import('./server-binary.mjs').ServerBinary} [settings.server] the first on this machine if left out
 * @throws if there is no server on this machine, or it does not start; the message ends with its log
 */
export async function startPrivateServer(settings) {
  const { dataDir, port, durable = true, options = [], createsSchema = true, litter, server } = settings;
  const binary = server ?? (await findServers())[0];
  if (!binary) throw new Error('There is no mysqld or mariadbd on this machine.');
  const folder = path.resolve(dataDir);
  await initialiseDataFolder(binary, folder);

  const ownPort = port ?? (await findFreePort());
  const socketFolder = litter ? mkdtempSync(path.join(litter, 'socket-')) : makeTempFolder('cashback-socket');
  const logFile = path.join(folder, 'server.log');
  const log = openSync(logFile, 'a');
  const args = serverOptions({ folder, port: ownPort, socketFolder, durable, flavour: binary.flavour }).concat(options);
  const env = { ...(settings.env ?? process.env), LC_ALL: 'C' };
  const running = await startGuarded({ command: binary.file, args, env, output: log, litter: litter ?? socketFolder });
  closeSync(log);
  void running.exited.then(() => rmSync(socketFolder, { recursive: true, force: true }));

  const serverUrl = `${binary.flavour}://root@127.0.0.1:${ownPort}/`;
  const controls = controlsOf(running);
  try {
    const version = await waitUntilReady(serverUrl, { timeoutMs: 60_000, hasExited: running.hasExited });
    if (createsSchema) await createDatabase(serverUrl);
    return { url: serverUrl + DATABASE_NAME, version, port: ownPort, ...controls };
  } catch (error) {
    await controls.stop();
    const said = existsSync(logFile) ? tail(readFileSync(logFile, 'utf8')) : '';
    throw new Error(`${binary.file} did not start (${String(error)}):\n${said}`, { cause: error });
  }
}

/** @param {import('../support/guarded-process.mjs').Guarded} running */
function controlsOf(running) {
  return {
    pid: running.pid,
    stop: () => running.end(STOP_GRACE_MS),
    kill: () => (running.signal('SIGKILL'), running.exited.then(() => undefined)),
    pause: async () => {
      running.signal('SIGSTOP');
      await untilStopped(running.pid);
    },
    resume: () => running.signal('SIGCONT'),
  };
}

/**
 * The server's command line. `--no-defaults` has to be the first option.
 *
 * @param {{ folder: string, port: number, socketFolder: string, durable: boolean, flavour: 'mysql' | 'mariadb' }} options
 */
function serverOptions({ folder, port, socketFolder, durable, flavour }) {
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
    ...(durable ? [] : FAST_OPTIONS),
  ];
}

// @ts-check
import { accessSync, constants, existsSync, mkdirSync, readdirSync, realpathSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { run, tail } from '../support/processes.mjs';

/**
 * @typedef {object} ServerBinary
 * @property {string} file
 * @property {'mysql' | 'mariadb'} flavour determines its options and the scheme of its URL
 */

/** Where packages put servers outside an ordinary user's PATH: Debian, Fedora, and Homebrew on either processor. */
const EXTRA_FOLDERS = [
  ...['/usr/sbin', '/usr/libexec', '/usr/local/sbin', '/usr/local/mysql/bin', '/opt/homebrew/bin'],
  ...['mysql', 'mysql@8.4', 'mariadb'].flatMap((name) => [
    `/opt/homebrew/opt/${name}/bin`,
    `/usr/local/opt/${name}/bin`,
  ]),
];

/** @returns {string[]} every folder to search, those of PATH first */
function searchFolders() {
  const onPath = (process.env['PATH'] ?? '').split(path.delimiter).filter(path.isAbsolute);
  return [...new Set([...onPath, ...EXTRA_FOLDERS])];
}

/** @param {string} file */
function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the database servers on this machine, or only the one that `LOCAL_MYSQLD` names. MariaDB installs a `mysqld`,
 * too, so the output of the program decides and not its name.
 */
export async function findServers() {
  const chosen = process.env['LOCAL_MYSQLD'];
  const named = chosen ? [chosen] : searchFolders().flatMap((folder) => [`${folder}/mysqld`, `${folder}/mariadbd`]);
  const files = new Map(named.filter(isExecutable).map((file) => [realpathSync(file), file]));
  /** @type {ServerBinary[]} */
  const servers = [];
  for (const file of files.values()) {
    const { ok, output } = await run(file, ['--no-defaults', '--version'], { timeoutMs: 10_000 });
    if (ok) servers.push({ file, flavour: output.includes('MariaDB') ? 'mariadb' : 'mysql' });
  }
  return servers;
}

/** A server runs as root only with this option. */
export function userOption() {
  return process.getuid?.() === 0 ? ['--user=root'] : [];
}

/**
 * Returns the command that initializes a data folder: the server itself for MySQL, a script beside it for MariaDB.
 *
 * @param {ServerBinary} server
 * @param {string} folder
 * @returns {[string, string[]]}
 */
function initialiseCommand(server, folder) {
  if (server.flavour === 'mysql') {
    return [server.file, ['--no-defaults', '--initialize-insecure', `--datadir=${folder}`, ...userOption()]];
  }
  const beside = path.dirname(realpathSync(server.file));
  const scripts = [beside, path.join(beside, '../bin'), path.join(beside, '../scripts'), ...searchFolders()].flatMap(
    (place) => [path.join(place, 'mariadb-install-db'), path.join(place, 'mysql_install_db')],
  );
  const script = scripts.find(isExecutable);
  if (!script) throw new Error(`${server.file} came without mariadb-install-db`);
  const options = [
    '--no-defaults',
    '--auth-root-authentication-method=normal',
    '--skip-test-db',
    '--skip-name-resolve',
  ];
  return [script, [...options, `--datadir=${folder}`, ...userOption()]];
}

/**
 * Initializes a data folder unless that was done before. It is renamed at the end, so that a folder with the right name
 * is always complete, even if an earlier run was interrupted.
 *
 * @param {ServerBinary} server
 * @param {string} dataDir
 * @throws if the server cannot initialize it; the message ends with its output
 */
export async function initialiseDataFolder(server, dataDir) {
  if (existsSync(dataDir) && readdirSync(dataDir).length > 0) return;
  mkdirSync(path.dirname(dataDir), { recursive: true });
  const unfinished = `${dataDir}.initialising`;
  rmSync(unfinished, { recursive: true, force: true });
  const [command, args] = initialiseCommand(server, unfinished);
  const { ok, output } = await run(command, args, { timeoutMs: 180_000, env: { ...process.env, LC_ALL: 'C' } });
  if (!ok) {
    rmSync(unfinished, { recursive: true, force: true });
    throw new Error(`${command} could not initialize ${dataDir}:\n${tail(output)}`);
  }
  rmSync(dataDir, { recursive: true, force: true });
  renameSync(unfinished, dataDir);
}

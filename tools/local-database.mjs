// @ts-check
import { createHash } from 'node:crypto';
import { existsSync, rmSync, statfsSync } from 'node:fs';
import path from 'node:path';
import { waitUntilReady } from './database/connection.mjs';
import { findEngine, startContainer } from './database/docker.mjs';
import { startPrivateServer } from './database/private-server.mjs';
import { findServers } from './database/server-binary.mjs';
import { makeTempFolder, messageOf, PROJECT, run, tail } from './support/processes.mjs';

/**
 * @typedef {'start' | 'test' | 'endurance'} Purpose `start` keeps its data under `.data/` (or in a Docker volume); `test`
 *   deletes it at the end and has it in memory where possible; `endurance` deletes it and has it on disk, since it is large
 * @typedef {(line: string) => void} Say prints what is done, and why
 * @typedef {{ url: string, version: string, stop: () => Promise<void> }} Database
 */

/** The script that initializes MariaDB's data folder needs a program from the client package. */
const PACKAGES = ['mariadb-server-core', 'mariadb-client-core'];

const WAYS = `There is no database. Any one of these helps:
  - set DATABASE_URL to a MySQL 8.4+ or MariaDB 10.11+ server, such as mysql://root@127.0.0.1:3306/cashback
    or mariadb://root@127.0.0.1:3306/cashback
  - start Docker
  - install a server: "apt-get install mariadb-server-core mariadb-client-core" (as root),
    "dnf install mariadb-server", "brew install mysql"; it does not have to run, and LOCAL_MYSQLD
    may name its program (mysqld or mariadbd)
  - on Debian or Ubuntu, run this command as root, and it installs one`;

/**
 * Finds or starts a database, in this order: DATABASE_URL, a running Docker engine, a server program on this machine, one
 * that apt-get installs. Each step prints what it does and why the next one follows.
 *
 * @param {{ purpose: Purpose, say: Say }} options
 * @returns {Promise<Database>} `stop` stops what was started, and nothing else
 * @throws if no step succeeds; the message lists what helps
 */
export async function provideDatabase({ purpose, say }) {
  const given = process.env['DATABASE_URL'];
  if (given) return useGiven(given, say);
  say('Looking for a database: DATABASE_URL is not set.');
  const database =
    (await tryDocker(purpose, say)) ?? (await tryMachine(purpose, say)) ?? (await tryPackages(purpose, say));
  if (!database) throw new Error(WAYS);
  say(`${database.version} is ready at ${database.url}`);
  return database;
}

/**
 * Uses the database that the caller named. If it is unreachable, that is an error: another database would be a surprise.
 *
 * @param {string} url
 * @param {Say} say
 */
async function useGiven(url, say) {
  const place = new URL(url);
  place.password ||= encodeURIComponent(process.env['DATABASE_PASSWORD'] ?? '');
  const shown = `${place.protocol}//${place.host}${place.pathname}`;
  say(`Using DATABASE_URL: ${shown}`);
  try {
    const version = await waitUntilReady(place.href, { timeoutMs: 20_000 });
    return { url: place.href, version, stop: () => Promise.resolve() };
  } catch (error) {
    throw new Error(`DATABASE_URL names ${shown}, which cannot be used: ${String(error)}`, { cause: error });
  }
}

/** @param {Purpose} purpose @param {Say} say */
async function tryDocker(purpose, say) {
  if (process.env['LOCAL_MYSQLD']) {
    say('Docker is not used: LOCAL_MYSQLD names a server.');
    return undefined;
  }
  const engine = await findEngine();
  if ('reason' in engine) {
    say(`There is no running Docker engine (${engine.reason}).`);
    return undefined;
  }
  say(`Docker ${engine.version} answers: starting mysql:8.4 in a container.`);
  // Two checkouts on one machine must not share their data.
  const project = createHash('sha256').update(PROJECT).digest('hex').slice(0, 8);
  const place =
    purpose === 'start'
      ? { name: `cashback-${project}`, volume: `cashback-${project}-data` }
      : { name: `cashback-test-${process.pid}` };
  try {
    return await startContainer({ ...place, say });
  } catch (error) {
    say(`Docker failed: ${messageOf(error)}`);
    return undefined;
  }
}

/** @param {Purpose} purpose @param {Say} say */
async function tryMachine(purpose, say) {
  const servers = await findServers();
  if (servers.length === 0) say('There is no mysqld or mariadbd on this machine.');
  for (const server of servers) {
    try {
      return await (purpose === 'start' ? startKept(server, say) : startTemporary(server, say, purpose));
    } catch (error) {
      say(`${server.file} failed: ${messageOf(error)}`);
    }
  }
  return undefined;
}

/** @param {Purpose} purpose @param {Say} say */
async function tryPackages(purpose, say) {
  if (process.env['LOCAL_MYSQLD']) return undefined;
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    say('No server is installed: that requires root on Debian or Ubuntu.');
    return undefined;
  }
  say(`Running apt-get install ${PACKAGES.join(' ')}; no system service is started.`);
  const options = { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' }, timeoutMs: 600_000 };
  // An unrelated package source may be broken. The installation shows whether it matters.
  await run('apt-get', ['-q', 'update'], options);
  const install = ['-q', '-y', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=120', 'install', ...PACKAGES];
  const { ok, output } = await run('apt-get', install, options);
  if (ok) return tryMachine(purpose, say);
  say(`apt-get could not install a server:\n${tail(output, 5)}`);
  return undefined;
}

/** @param {import('./database/server-binary.mjs').ServerBinary} server @param {Say} say */
function startKept(server, say) {
  // One kind of server cannot read the other's files.
  const dataDir = path.join(PROJECT, '.data', server.flavour);
  say(`Starting ${server.file} privately on 127.0.0.1, with its data in ${dataDir}`);
  return startPrivateServer({ server, dataDir, durable: true });
}

/** @param {import('./database/server-binary.mjs').ServerBinary} server @param {Say} say @param {Purpose} purpose */
async function startTemporary(server, say, purpose) {
  const folder = makeTempFolder('cashback-test', purpose === 'test' && hasMemory() ? MEMORY : undefined);
  const remove = () => rmSync(folder, { recursive: true, force: true });
  say(`Starting ${server.file} privately on 127.0.0.1, with its data in ${folder} (deleted at the end)`);
  try {
    const dataDir = path.join(folder, 'data');
    const running = await startPrivateServer({ server, dataDir, durable: false, litter: folder });
    return { ...running, stop: () => running.stop().finally(remove) };
  } catch (error) {
    remove();
    throw error;
  }
}

/** A file system in memory: creating a database there is ten times as fast. */
const MEMORY = '/dev/shm';

/** Whether the file system in memory has 1 GiB. */
function hasMemory() {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize > 1024 ** 3;
  } catch {
    return false;
  }
}

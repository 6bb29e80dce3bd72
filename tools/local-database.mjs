// @ts-check
import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { canInstallPackages, installServer } from './database/apt.mjs';
import { waitUntilReady } from './database/connection.mjs';
import { findEngine, startContainer } from './database/docker.mjs';
import { startPrivateServer } from './database/private-server.mjs';
import { findServers } from './database/server-binary.mjs';
import { makeTempFolder } from './support/temp-folder.mjs';

/**
 * @typedef {'start' | 'test'} Purpose `start` keeps its data under `.data/` (or in a Docker volume), `test` throws it away
 * @typedef {(line: string) => void} Say takes a line that tells the reader what is being done, and why
 * @typedef {{ url: string, version: string, stop: () => Promise<void> }} Database
 */

/** The project's folder, wherever the command was typed. */
const PROJECT = path.resolve(import.meta.dirname, '..');

/** What a reader can do when there is no way left. */
const WAYS = `No database could be had. Any one of these helps:
  - set DATABASE_URL to a MySQL 8.4+ or MariaDB 10.11+ server, such as mysql://root@127.0.0.1:3306/cashback
    or mariadb://root@127.0.0.1:3306/cashback
  - start Docker
  - install a server: "apt-get install mariadb-server-core mariadb-client-core" (as root),
    "dnf install mariadb-server", "brew install mysql"; it need not run, and LOCAL_MYSQLD may name its
    program (mysqld or mariadbd)
  - on Debian or Ubuntu, run this command as root, and it installs one`;

/**
 * Finds or makes a database, in this order: DATABASE_URL, a Docker engine that answers, a server program on this
 * machine, one that apt-get installs. It says at each step what it does and why it moved on.
 *
 * @param {{ purpose: Purpose, say: Say }} options
 * @returns {Promise<Database>} `stop` ends what was started, and nothing else
 * @throws if there is no way; the message lists the ways
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
 * A database that the caller named is taken as it is. If it does not answer, that is an error: to work on another one than
 * was asked for would be worse.
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
    throw new Error(`DATABASE_URL names ${shown}, which can't be used: ${String(error)}`, { cause: error });
  }
}

/** @param {Purpose} purpose @param {Say} say */
async function tryDocker(purpose, say) {
  if (process.env['LOCAL_MYSQLD']) {
    say('Not asking Docker: LOCAL_MYSQLD names a server.');
    return undefined;
  }
  const engine = await findEngine();
  if ('reason' in engine) {
    say(`No Docker engine answers (${engine.reason}).`);
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
    say(`Docker is no help: ${messageOf(error)}`);
    return undefined;
  }
}

/** @param {Purpose} purpose @param {Say} say */
async function tryMachine(purpose, say) {
  const servers = await findServers();
  if (servers.length === 0) say('There is no mysqld or mariadbd on this machine.');
  for (const server of servers) {
    const start = purpose === 'start' ? startKept : startThrownAway;
    try {
      return await start(server, say);
    } catch (error) {
      say(`${server.file} is no help: ${messageOf(error)}`);
    }
  }
  return undefined;
}

/** @param {Purpose} purpose @param {Say} say */
async function tryPackages(purpose, say) {
  if (process.env['LOCAL_MYSQLD']) return undefined;
  if (!canInstallPackages()) {
    say('Not installing one: that takes root on Debian or Ubuntu.');
    return undefined;
  }
  say('Installing a server; only its program, no service is started.');
  const result = await installServer(say);
  if ('installed' in result) return tryMachine(purpose, say);
  say(result.reason);
  return undefined;
}

/** @param {import('./database/server-binary.mjs').ServerBinary} server @param {Say} say */
function startKept(server, say) {
  // One kind of server cannot read the other's files.
  const dataDir = path.join(PROJECT, '.data', server.flavour);
  say(`Starting ${server.file} privately on 127.0.0.1, with its data in ${dataDir}`);
  return startPrivateServer({ server, dataDir, durable: true });
}

/** @param {import('./database/server-binary.mjs').ServerBinary} server @param {Say} say */
async function startThrownAway(server, say) {
  const folder = makeTempFolder('cashback-test');
  const remove = () => rmSync(folder, { recursive: true, force: true });
  say(`Starting ${server.file} privately on 127.0.0.1, with its data in ${folder} (thrown away after)`);
  try {
    const dataDir = path.join(folder, 'data');
    const running = await startPrivateServer({ server, dataDir, durable: false, litter: folder });
    return { ...running, stop: () => running.stop().finally(remove) };
  } catch (error) {
    remove();
    throw error;
  }
}

/** @param {unknown} error */
function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}

// @ts-check
import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { escape } from 'mysql2';
import { query } from '../tools/database/connection.mjs';
import { startPrivateServer } from '../tools/database/private-server.mjs';
import { startGuarded, untilReady } from '../tools/support/guarded-process.mjs';
import { findFreePort } from '../tools/support/ports.mjs';
import { makeTempFolder, PROJECT, run, tail } from '../tools/support/processes.mjs';
import { columnsOf } from './columns.mjs';
import { processorMs } from './processes.mjs';

/**
 * @typedef {object} Target a server under load
 * @property {string} url
 * @property {number} pid
 * @property {number} readyMs from its start until it was ready
 * @property {() => Promise<void>} stop
 */

/** Connections to the database of each server that is compared: the service's default. */
const POOL_SIZE = 10;

/** The command that starts the build as in production: that of `npm run start:prod`. @type {string[]} */
export const PRODUCTION_COMMAND = JSON.parse(readFileSync(path.join(PROJECT, 'package.json'), 'utf8')).scripts[
  'start:prod'
].split(' ');

const SERVER_OPTIONS = [
  // A server of production has more memory for its pages than the 128 MiB it starts with.
  '--innodb-buffer-pool-size=1G',
  // The seeds write NOW().
  '--default-time-zone=+00:00',
];

/** The setup of the measurements: a database and the servers that use it, all removed at the end. */
export class Lab {
  database = '';
  /** Of the database. */
  databasePid = 0;
  #serverUrl = '';
  /** Cleanup functions, run in reverse order. @type {(() => Promise<void> | void)[]} */
  #ends = [];
  /** @type {Promise<void> | undefined} */
  #closing;
  #jwtSecret = randomBytes(48).toString('base64');

  /** @param {(line: string) => void} say */
  constructor(say) {
    this.say = say;
  }

  /** Starts a database that waits for the disk at each commit, as in production, in a temporary folder. */
  async open() {
    const folder = makeTempFolder('cashback-bench');
    this.#ends.push(() => rmSync(folder, { recursive: true, force: true }));
    const place = { dataDir: path.join(folder, 'data'), litter: folder };
    const { url, version, stop } = await startPrivateServer({ ...place, durable: true, options: SERVER_OPTIONS });
    this.#ends.push(stop);
    this.database = version;
    this.databasePid = Number(readFileSync(path.join(place.dataDir, 'server.pid'), 'utf8'));
    this.#serverUrl = url.replace(/[^/]+$/, '');
    this.say(`${version}, which waits for the disk at each commit, with its data in ${folder} (deleted at the end)`);
  }

  /**
   * Runs a statement and returns its rows.
   *
   * @param {string} schema
   * @param {string} statement
   * @param {unknown[]} [values]
   */
  sql(schema, statement, values) {
    return query(this.#serverUrl + schema, statement, values);
  }

  /** @param {string} schema @param {string} table */
  #columnsOf(schema, table) {
    return columnsOf((statement, values) => this.sql(schema, statement, values), table);
  }

  /**
   * Inserts rows in the columns that the table has.
   *
   * @param {string} schema @param {string} table @param {Record<string, unknown>[]} rows
   */
  async insertRows(schema, table, rows) {
    const columns = await this.#columnsOf(schema, table);
    await this.sql(schema, `INSERT INTO ${table} (${columns.map(([name]) => name).join(', ')}) VALUES ?`, [
      rows.map((row) => columns.map(([name, empty]) => row[name] ?? empty)),
    ]);
  }

  /**
   * Inserts the rows of a query in the columns that the table has.
   *
   * @param {string} schema @param {string} table
   * @param {Record<string, string | number>} expressions by column
   * @param {string} from the end of the query
   * @param {string} [tables] its beginning
   */
  async insertFrom(schema, table, expressions, from, tables = '') {
    const columns = await this.#columnsOf(schema, table);
    await this.sql(
      schema,
      `INSERT INTO ${table} (${columns.map(([name]) => name).join(', ')}) ${tables}
       SELECT ${columns.map(([name, empty]) => expressions[name] ?? escape(empty)).join(', ')} FROM ${from}`,
    );
  }

  /** Returns the number of statements that the database has run. */
  async statements() {
    const [row] = await this.sql('mysql', "SHOW GLOBAL STATUS LIKE 'Questions'");
    return Number(row?.['Value']);
  }

  /** Waits until the database has done what it does after its answers, such as the purge of old rows: at most 10 s. */
  async untilDatabaseRests() {
    const deadline = performance.now() + 10_000;
    for (let isBusy = true; isBusy && performance.now() < deadline;) {
      const before = processorMs(this.databasePid);
      await sleep(200);
      isBusy = processorMs(this.databasePid) - before > 20;
    }
  }

  /**
   * The environment of a production process, without the rest of ours.
   *
   * @param {string} schema
   * @returns {NodeJS.ProcessEnv}
   */
  environment(schema) {
    return {
      // The command of production looks for `node` in the PATH: it must find the one that also runs the floor.
      PATH: [path.dirname(process.execPath), process.env['PATH']].join(path.delimiter),
      ...{ NODE_ENV: 'production', HOST: '127.0.0.1', LOG_LEVEL: 'info', SHUTDOWN_DELAY_SECONDS: '0' },
      ...{ DATABASE_URL: this.#serverUrl + schema, DATABASE_POOL_SIZE: String(POOL_SIZE), JWT_SECRET: this.#jwtSecret },
      ...{ RATE_LIMIT: '1000000', LOGIN_RATE_LIMIT: '1000000' },
    };
  }

  /**
   * A command of the project that runs to its end, such as the operator's command line.
   *
   * @param {string} schema
   * @param {string[]} args
   * @param {number} [timeoutMs]
   * @returns {Promise<string>} what it printed
   */
  async command(schema, args, timeoutMs = 120_000) {
    const { ok, output } = await run(process.execPath, args, { timeoutMs, env: this.environment(schema) });
    if (!ok) throw new Error(`node ${args.slice(0, 3).join(' ')} failed:\n${tail(output)}`);
    return output;
  }

  /**
   * Starts the production build. Its log, one line per request as in production, goes to /dev/null.
   *
   * @param {string} schema
   * @param {NodeJS.ProcessEnv} [env] what is different from production
   */
  startService(schema, env) {
    return this.#start(PRODUCTION_COMMAND, schema, env);
  }

  /** @param {string} schema */
  startFloor(schema) {
    return this.#start([process.execPath, 'bench/floor/server.mjs'], schema);
  }

  /** Starts the server that receives webhooks. @param {string} schema */
  startReceiver(schema) {
    return this.#start([process.execPath, 'bench/events/receiver.mjs'], schema);
  }

  /** @param {string[]} command @param {string} schema @param {NodeJS.ProcessEnv} [more] @returns {Promise<Target>} */
  async #start([program = '', ...args], schema, more = {}) {
    const port = await findFreePort();
    const startedAt = performance.now();
    const env = { ...this.environment(schema), ...more, PORT: String(port) };
    const running = await startGuarded({ command: program, args, env, output: { file: '/dev/null' } });
    const stop = () => running.end(5_000);
    this.#ends.push(stop);
    const url = `http://127.0.0.1:${port}`;
    if (!(await untilReady(url, running))) throw new Error(`${program} ${args.join(' ')} did not become ready`);
    return { url, pid: running.pid, readyMs: performance.now() - startedAt, stop };
  }

  /** Stops everything, the database last. A second call waits for the first. */
  close() {
    this.#closing ??= (async () => {
      for (const end of this.#ends.reverse()) await end();
    })();
    return this.#closing;
  }
}

import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type mysql2 from 'mysql2';
import { promisify } from 'node:util';
import { DataSource } from 'typeorm';
import { Config } from '../config/config.js';
import { parseDatabaseUrl } from '../config/database-url.js';
import { unavailable } from '../values/problem.js';
import { MINUTE_MS, SECOND_MS } from '../values/time.js';
import { createPool, prepared } from './data-source.js';
import { isUnavailable } from './errors.js';
import { appliedMigrations, migrationNames } from './migrations.js';
import { UnitOfWork } from './unit-of-work.js';

/** Both are 1 if what was committed survives a crash: a transaction that is not in the binary log is rolled back. */
const DURABILITY = ['innodb_flush_log_at_trx_commit', 'sync_binlog'] as const;

const ASK = `SELECT UNIX_TIMESTAMP(NOW(3)) AS now, @@innodb_flush_log_at_trx_commit AS innodb_flush_log_at_trx_commit,
  IF(@@log_bin, @@sync_binlog, 1) AS sync_binlog`;

/** What the database's server says of itself. Another one may answer after a failover. */
@Injectable()
export class DatabaseServer {
  /** How far this machine's clock was ahead of the server's when they were compared last. */
  aheadMs = 0;
  /** Settings with which a crash loses what was answered. Only live services in production look at them. */
  warnings: string[] = [];

  constructor(
    private readonly config: Config,
    private readonly unitOfWork: UnitOfWork,
  ) {}

  /** @param query on a connection other than those of requests. */
  async ask(query?: (sql: string) => Promise<unknown>): Promise<void> {
    const sentAt = Date.now();
    const asked = query?.(ASK) ?? this.unitOfWork.statement((manager) => manager.query(ASK));
    const [answer] = (await asked) as [Record<'now' | (typeof DURABILITY)[number], unknown>];
    const theirs = Number(answer.now) * SECOND_MS;
    // The server read its clock at some moment in between.
    this.aheadMs = Math.min(Math.max(theirs, sentAt), Date.now()) - theirs;
    const looks = this.config.NODE_ENV === 'production' && !this.config.SANDBOX;
    this.warnings = DURABILITY.filter((name) => looks && Number(answer[name]) !== 1).map(
      (name) => `${name} is ${Number(answer[name])} and not 1: a crash of the database loses answered requests`,
    );
  }

  /** @throws Problem unavailable if the clocks differ by more than a minute. */
  async check(query?: Parameters<DatabaseServer['ask']>[0]): Promise<void> {
    await this.ask(query);
    this.refuseWrongClock();
  }

  /**
   * What is done by date is done for good, and what has a wrong date is in no closed day.
   *
   * @throws Problem unavailable if the clocks differed by more than a minute when they were compared last.
   */
  refuseWrongClock(): void {
    if (Math.abs(this.aheadMs) <= MINUTE_MS) return;
    const [here, there] = [Date.now(), Date.now() - this.aheadMs].map((at) => new Date(at).toISOString());
    const detail = `this machine's clock says ${here}, and the database's ${there}`;
    throw unavailable(new Error(detail), detail);
  }
}

/** How long a result is cached, so that many concurrent probes cost one check. */
const CACHED_MS = 1000;

const CHECK_TIMEOUT_MS = 2000;

/**
 * How long the service stays not ready after a change failed because the disk was full. A small test write might
 * succeed.
 */
const DISK_FULL_MS = 10_000;

/** A read-only server refuses this statement although no row matches. On any other server it changes nothing. */
const HARMLESS_WRITE = 'UPDATE migrations SET name = name WHERE id = -1';

type Named = mysql2.RowDataPacket & { name: string };

/**
 * Checks that the database is reachable and writable, has free space, all migrations, and the time of this machine. It
 * uses a connection of its own, because requests may exhaust the pool.
 */
@Injectable()
export class DatabaseHealth implements OnApplicationShutdown {
  readonly #pool: mysql2.Pool;
  #checkedAt = -Infinity;
  #result: Promise<void> = Promise.resolve();

  constructor(
    config: Config,
    private readonly dataSource: DataSource,
    private readonly unitOfWork: UnitOfWork,
    private readonly server: DatabaseServer,
  ) {
    const { host, port, username: user, password, database, ssl } = parseDatabaseUrl(config.DATABASE_URL);
    const limits = { statementMs: CHECK_TIMEOUT_MS, tableLockSeconds: 1 };
    const options = { host, port, user, password, database, ...(ssl && { ssl }), connectTimeout: CHECK_TIMEOUT_MS };
    this.#pool = createPool({ ...options, connectionLimit: 1, enableKeepAlive: true }, limits);
  }

  /** @throws the reason why the database can't serve requests now. */
  check(): Promise<void> {
    if (performance.now() - this.#checkedAt > CACHED_MS) {
      // While a check is in progress, all callers wait for it.
      this.#checkedAt = Infinity;
      this.#result = this.#run().finally(() => (this.#checkedAt = performance.now()));
    }
    return this.#result;
  }

  onApplicationShutdown(): void {
    // Not awaited: an unresponsive server must not delay the shutdown.
    this.#pool.end(() => undefined);
  }

  async #run(): Promise<void> {
    const connection = await promisify(this.#pool.getConnection.bind(this.#pool))();
    try {
      await prepared(connection);
      const statements = connection.promise();
      const query = (sql: string) => statements.query<Named[]>(withLimit(sql)).then(([rows]) => rows);
      const applied = await appliedMigrations(query);
      const missing = migrationNames(this.dataSource).filter((name) => !applied.has(name));
      if (missing.length > 0) throw new Error(`${missing.length} migrations have not been applied`);
      await statements.query(withLimit(HARMLESS_WRITE));
      await this.server.check(query);
      connection.release();
    } catch (error) {
      // The next check connects again: to the server that is the writer by then.
      connection.destroy();
      throw error;
    }
    if (this.unitOfWork.msSinceDiskFull < DISK_FULL_MS) throw new Error('the database has no free space');
  }
}

const withLimit = (sql: string): mysql2.QueryOptions => ({ sql, timeout: CHECK_TIMEOUT_MS });

/** A database is a sandbox or live for good: nobody moves the clock of a live merchant by a wrong variable. */
@Injectable()
export class DatabaseKind implements OnModuleInit {
  #isKnown = false;

  constructor(
    private readonly config: Config,
    private readonly dataSource: DataSource,
    private readonly unitOfWork: UnitOfWork,
  ) {}

  /** A live service also starts without its migrations and on a read-only server. It is not ready then. */
  async onModuleInit(): Promise<void> {
    try {
      await this.check();
    } catch (error) {
      if (isUnavailable(error) && !this.config.SANDBOX) return;
      // Nothing closes an application that did not start.
      await this.dataSource.destroy();
      throw error;
    }
  }

  /** @throws Error if the database is of the other kind. The first start decides it. */
  async check(): Promise<void> {
    if (this.#isKnown) return;
    const kind = this.config.SANDBOX ? 'sandbox' : 'live';
    const found = (await this.#read()) ?? (await this.#write(kind));
    if (found !== kind) {
      const right = found === 'sandbox' ? 'start the service with SANDBOX=true' : 'start the service without SANDBOX';
      throw new Error(
        `the database is ${found === 'sandbox' ? 'a sandbox' : 'live'}: ${right}, or use another database`,
      );
    }
    this.#isKnown = true;
  }

  async #write(kind: string): Promise<string | undefined> {
    await this.unitOfWork.statement((manager) => manager.query('INSERT IGNORE INTO deployment VALUES (1, ?)', [kind]));
    return this.#read();
  }

  async #read(): Promise<string | undefined> {
    const sql = 'SELECT kind FROM deployment WHERE id = 1';
    const [row] = await this.unitOfWork.statement((manager) => manager.query<{ kind: string }[]>(sql));
    return row?.kind;
  }
}

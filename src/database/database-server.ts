import { Injectable } from '@nestjs/common';
import { MINUTE_MS, SECOND_MS } from '../common/clock.js';
import { unavailable } from '../common/problem.js';
import { Config } from '../config/config.js';
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

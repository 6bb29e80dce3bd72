import { Injectable, Logger } from '@nestjs/common';
import { type PoolConnection } from 'mysql2';
import { setTimeout as sleep } from 'node:timers/promises';
import { Subject } from 'rxjs';
import {
  Column,
  DataSource,
  Entity,
  type EntityManager,
  Index,
  PrimaryGeneratedColumn,
  type QueryRunner,
} from 'typeorm';
import { type By } from '../values/caller.js';
import {
  type DomainEvent,
  DomainEvents,
  isFeedEvent,
  type NewFeedEvent,
  type Recorder,
} from '../values/domain-event.js';
import { newId } from '../values/ids.js';
import { RETRIES_MS } from '../values/time-limits.js';
import { ByColumn, IdColumn, InstantColumn, WordColumn } from './columns.js';
import { prepared } from './data-source.js';
import { isConnectionUnusable, isDiskFull, lockConflict, type LockConflict } from './errors.js';
import { insertRows } from './rows.js';

const ATTEMPTS = 6;
const FIRST_PAUSE_MS = 10;

export type UseCase<T> = (manager: EntityManager, record: Recorder) => Promise<T>;
type Work<T> = (runner: QueryRunner, recorded: DomainEvent[]) => Promise<T>;

/** Runs use cases against the database, and retries them after a conflict with another transaction. */
@Injectable()
export class UnitOfWork {
  readonly #log = new Logger('Database');
  readonly retries = new Subject<LockConflict>();
  #inUse = 0;
  #waiting = 0;
  #diskFullAt = -Infinity;

  constructor(
    private readonly dataSource: DataSource,
    private readonly events: DomainEvents,
  ) {}

  /**
   * Runs a use case as one transaction, in which the recorded events of merchants' feeds are stored.
   *
   * @param useCase passes the transaction's manager on and opens no other transaction. It may run several times, so it
   *   has no effect except through the manager and the recorder.
   * @param isRetried whether it is retried after a conflict with another transaction.
   */
  transaction<T>(useCase: UseCase<T>, isRetried = true): Promise<T> {
    return this.#attempt(isRetried, (runner, recorded) =>
      inTransaction(runner, async (manager) => {
        const result = await useCase(manager, (event) => recorded.push(event));
        await storeEvents(manager, recorded);
        return result;
      }),
    );
  }

  /**
   * Runs a use case with at most one write statement, outside an explicit transaction. Events of merchants' feeds need
   * a transaction.
   *
   * @param isRetried whether it is retried after a conflict with another transaction.
   */
  statement<T>(useCase: UseCase<T>, isRetried = true): Promise<T> {
    return this.#attempt(isRetried, (runner, recorded) => useCase(runner.manager, (event) => recorded.push(event)));
  }

  /** Runs several reads on one consistent snapshot; for use cases that write nothing. */
  snapshot<T>(reading: (manager: EntityManager) => Promise<T>): Promise<T> {
    return this.#run((runner) => inTransaction(runner, reading, 'REPEATABLE READ'));
  }

  get load(): { in_use: number; waiting: number } {
    return { in_use: this.#inUse, waiting: this.#waiting };
  }

  get msSinceDiskFull(): number {
    return performance.now() - this.#diskFullAt;
  }

  async #run<T>(work: Work<T>): Promise<T> {
    const recorded: DomainEvent[] = [];
    const runner = await this.#connect();
    let result: T;
    try {
      result = await work(runner, recorded);
    } catch (error) {
      if (isDiskFull(error)) this.#diskFullAt = performance.now();
      await abandon(runner, error);
      throw error;
    } finally {
      this.#inUse--;
      await runner.release();
    }
    for (const event of recorded) this.events.publish(event);
    return result;
  }

  async #connect(): Promise<QueryRunner> {
    const runner = this.dataSource.createQueryRunner();
    this.#waiting++;
    try {
      await prepared((await runner.connect()) as PoolConnection);
    } finally {
      this.#waiting--;
    }
    this.#inUse++;
    return runner;
  }

  async #attempt<T>(isRetried: boolean, work: Work<T>): Promise<T> {
    const startedAt = performance.now();
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#run(work);
      } catch (error) {
        const reason = lockConflict(error);
        if (reason === undefined || !isRetried) throw error;
        if (attempt === ATTEMPTS || performance.now() - startedAt > RETRIES_MS) {
          this.#log.warn({ event: 'database_conflict_given_up', reason, attempt }, 'gave up after too many conflicts');
          throw error;
        }
        this.#log.debug({ event: 'database_conflict_retried', reason, attempt }, 'retrying after a conflict');
        this.retries.next(reason);
        // Full jitter, so that two transactions that collided do not collide again.
        await sleep(Math.random() * FIRST_PAUSE_MS * 2 ** attempt);
      }
    }
  }
}

/** Runs work as a transaction. What fails is rolled back by `abandon`. */
async function inTransaction<T>(
  runner: QueryRunner,
  work: (manager: EntityManager) => Promise<T>,
  isolation?: 'REPEATABLE READ',
): Promise<T> {
  await runner.startTransaction(isolation);
  const result = await work(runner.manager);
  await runner.commitTransaction();
  return result;
}

/**
 * Rolls back what failed. A connection that cannot be used again is destroyed instead: mysql2 would return it to the
 * pool, where the next statement would wait for the one that timed out, or meet the same read-only server.
 */
async function abandon(runner: QueryRunner, error: unknown): Promise<void> {
  try {
    if (isConnectionUnusable(error)) throw error;
    if (runner.isTransactionActive) await runner.rollbackTransaction();
  } catch {
    // The runner has its connection already.
    ((await runner.connect()) as PoolConnection).destroy();
  }
}

/** A `NewFeedEvent` with its ID. It has no number in its merchant's feed yet. */
@Entity('event_outbox')
@Index('ix_event_outbox_merchant', ['merchantId', 'id'])
export class OutboxRow {
  @PrimaryGeneratedColumn({ name: 'id', type: 'bigint' })
  id?: number;

  @IdColumn('merchant_id')
  merchantId!: string;

  @IdColumn('event_id')
  eventId!: string;

  @WordColumn('type')
  type!: NewFeedEvent['type'];

  @IdColumn('subject_id')
  subjectId!: string;

  /** A text, because MySQL does not keep the order of members in JSON. */
  @Column({ name: 'data', type: 'simple-json' })
  data!: NewFeedEvent['data'];

  @InstantColumn('occurred_at')
  occurredAt!: Date;

  @ByColumn('made_by', { nullable: true })
  madeBy!: By;
}

/** Stores the events that belong in feeds, as the last statement of a use case's transaction. */
async function storeEvents(manager: EntityManager, recorded: readonly DomainEvent[]): Promise<void> {
  const rows = recorded.filter(isFeedEvent).map((event) => ({ ...event, eventId: newId(event.occurredAt) }));
  await insertRows(manager, OutboxRow, rows);
}

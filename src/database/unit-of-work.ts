import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { DomainEvent, Recorder } from '../common/domain-event.js';
import { isDiskFull, lockConflict, type LockConflict } from './errors.js';

const ATTEMPTS = 6;
const FIRST_PAUSE_MS = 10;

/** After this time no client waits for the response. */
const GIVE_UP_AFTER_MS = 4000;

/** Reads and writes through the manager, and records domain events. */
type UseCase<T> = (manager: EntityManager, record: Recorder) => Promise<T>;

type Attempt<T> = (record: Recorder) => Promise<T>;

/** Runs use cases against the database, and retries them after a conflict with another transaction. */
@Injectable()
export class UnitOfWork {
  readonly #log = new Logger('Database');
  /** Called for each retry. */
  onRetry: (reason: LockConflict) => void = () => undefined;
  /** Called after the commit for each event that the use case recorded. */
  onCommit: (event: DomainEvent) => void = () => undefined;
  #diskFullAt = -Infinity;

  constructor(private readonly dataSource: DataSource) {}

  /**
   * Runs a use case as one transaction.
   *
   * @param useCase receives the transaction's manager and passes it on; it never opens another transaction.
   *   It may run several times, so it must have no effect except through the manager and the recorder.
   * @returns the result of the use case, after the commit.
   */
  transaction<T>(useCase: UseCase<T>): Promise<T> {
    return this.#retryOnConflict((record) => this.dataSource.transaction((manager) => useCase(manager, record)));
  }

  /**
   * Runs a use case with at most one write statement, outside an explicit transaction.
   *
   * @param isRetried whether it is retried after a conflict with another transaction.
   */
  statement<T>(useCase: UseCase<T>, isRetried = true): Promise<T> {
    const attempt: Attempt<T> = (record) => useCase(this.dataSource.manager, record);
    return isRetried ? this.#retryOnConflict(attempt) : this.#run(attempt);
  }

  /** Runs several reads on one consistent snapshot; for use cases that write nothing. */
  snapshot<T>(reading: (manager: EntityManager) => Promise<T>): Promise<T> {
    return this.dataSource.transaction('REPEATABLE READ', reading);
  }

  /** Milliseconds since a change last failed because the database had no free space. */
  get msSinceDiskFull(): number {
    return performance.now() - this.#diskFullAt;
  }

  /** Runs a use case once and, after its commit, reports what it recorded. */
  async #run<T>(attempt: Attempt<T>): Promise<T> {
    const events: DomainEvent[] = [];
    try {
      const result = await attempt((event) => events.push(event));
      for (const event of events) this.onCommit(event);
      return result;
    } catch (error) {
      if (isDiskFull(error)) this.#diskFullAt = performance.now();
      throw error;
    }
  }

  async #retryOnConflict<T>(attemptOnce: Attempt<T>): Promise<T> {
    const startedAt = performance.now();
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#run(attemptOnce);
      } catch (error) {
        const reason = lockConflict(error);
        if (reason === undefined) throw error;
        if (attempt === ATTEMPTS || performance.now() - startedAt > GIVE_UP_AFTER_MS) {
          this.#log.warn({ event: 'database_conflict_given_up', reason, attempt }, 'gave up after too many conflicts');
          throw error;
        }
        this.#log.debug({ event: 'database_conflict_retried', reason, attempt }, 'retrying after a conflict');
        this.onRetry(reason);
        // Full jitter, so that two transactions that collided do not collide again.
        await sleep(Math.random() * FIRST_PAUSE_MS * 2 ** attempt);
      }
    }
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { DomainEvent, Recorder } from '../common/domain-event.js';
import { isDiskFull, lockConflict, type LockConflict } from './errors.js';

const ATTEMPTS = 6;
const FIRST_PAUSE_MS = 10;

/** After that time no client waits for the answer. */
const GIVE_UP_AFTER_MS = 4000;

/** Reads and writes through the manager, and records what happened. */
type UseCase<T> = (manager: EntityManager, record: Recorder) => Promise<T>;

/** Runs use cases against the database, and runs one again after a conflict with another transaction. */
@Injectable()
export class UnitOfWork {
  readonly #log = new Logger('Database');
  #onRetry: (reason: LockConflict) => void = () => undefined;
  #onCommit: (event: DomainEvent) => void = () => undefined;
  #diskFullAt = -Infinity;

  constructor(private readonly dataSource: DataSource) {}

  /**
   * Runs a use case as one transaction.
   *
   * @param useCase receives the transaction's manager and passes it on; it never opens another transaction.
   *   It may run several times, so it must have no effect except through the manager and the recorder.
   * @returns what the use case returned, committed.
   */
  transaction<T>(useCase: UseCase<T>): Promise<T> {
    return this.#retryOnConflict((record) => this.dataSource.transaction((manager) => useCase(manager, record)));
  }

  /** Runs a use case with at most one write, which is one statement: the database makes that a transaction of its own. */
  statement<T>(useCase: UseCase<T>): Promise<T> {
    return this.#retryOnConflict((record) => useCase(this.dataSource.manager, record));
  }

  /** Reads several times from one moment of the database; for use cases that write nothing. */
  snapshot<T>(reading: (manager: EntityManager) => Promise<T>): Promise<T> {
    return this.dataSource.transaction('REPEATABLE READ', reading);
  }

  /** Sets what is told of each retry: a metric. */
  onRetry(listener: (reason: LockConflict) => void): void {
    this.#onRetry = listener;
  }

  /** Sets what is told of each event that a use case recorded, after it was committed: a metric. */
  onCommit(listener: (event: DomainEvent) => void): void {
    this.#onCommit = listener;
  }

  /** How many milliseconds ago the database last had no space for a change. */
  get msSinceDiskFull(): number {
    return performance.now() - this.#diskFullAt;
  }

  async #retryOnConflict<T>(attemptOnce: (record: Recorder) => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    for (let attempt = 1; ; attempt++) {
      try {
        const events: DomainEvent[] = [];
        const result = await attemptOnce((event) => events.push(event));
        for (const event of events) this.#onCommit(event);
        return result;
      } catch (error) {
        if (isDiskFull(error)) this.#diskFullAt = performance.now();
        const reason = lockConflict(error);
        if (reason === undefined) throw error;
        if (attempt === ATTEMPTS || performance.now() - startedAt > GIVE_UP_AFTER_MS) {
          this.#log.warn({ event: 'database_conflict_given_up', reason, attempt }, 'a conflict was retried too often');
          throw error;
        }
        this.#log.debug({ event: 'database_conflict_retried', reason, attempt }, 'a conflict is retried');
        this.#onRetry(reason);
        // Full jitter, so that two transactions that collided do not meet again.
        await sleep(Math.random() * FIRST_PAUSE_MS * 2 ** attempt);
      }
    }
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { isLockConflict } from './errors.js';

const ATTEMPTS = 6;
const FIRST_PAUSE_MS = 10;

/** Nobody waits for the answer any longer then. */
const GIVE_UP_AFTER_MS = 4000;

/** Runs a use case as one transaction, and runs it anew where the database chose it as a deadlock's victim. */
@Injectable()
export class UnitOfWork {
  constructor(private readonly dataSource: DataSource) {}

  /**
   * @param useCase takes the transaction's manager and hands it on; whoever is handed one never opens another.
   *   It may run several times, so it must have no effect but through the manager.
   * @returns what the use case returned, committed.
   */
  transaction<T>(useCase: (manager: EntityManager) => Promise<T>): Promise<T> {
    return this.#retryOnConflict(() => this.dataSource.transaction(useCase));
  }

  /** Runs a use case whose one write is one statement: the database makes that a transaction of its own. */
  statement<T>(useCase: (manager: EntityManager) => Promise<T>): Promise<T> {
    return this.#retryOnConflict(() => useCase(this.dataSource.manager));
  }

  /** Reads several times from one moment of the database; for use cases that write nothing. */
  snapshot<T>(reading: (manager: EntityManager) => Promise<T>): Promise<T> {
    return this.dataSource.transaction('REPEATABLE READ', reading);
  }

  async #retryOnConflict<T>(attemptOnce: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    for (let attempt = 1; ; attempt++) {
      try {
        return await attemptOnce();
      } catch (error) {
        const isLast = attempt === ATTEMPTS || performance.now() - startedAt > GIVE_UP_AFTER_MS;
        if (!isLockConflict(error) || isLast) throw error;
        // Full jitter, so that two who collided do not meet again.
        await sleep(Math.random() * FIRST_PAUSE_MS * 2 ** attempt);
      }
    }
  }
}

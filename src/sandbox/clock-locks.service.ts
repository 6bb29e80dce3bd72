import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource, type EntityManager, IsNull, Not } from 'typeorm';
import { DomainEvents } from '../common/domain-event.js';
import { type FairQueue, queueForConnections } from '../common/fair-queue.js';
import { Config } from '../config/config.js';
import { dataSourceOptions } from '../database/data-source.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { EventSweep } from '../events/event.entity.js';
import { Merchant } from '../merchants/merchant.entity.js';
import { MerchantClock } from './sandbox-clock.entity.js';
import { SandboxClock } from './sandbox-clock.js';

const ENTITIES = [MerchantClock, Merchant, EventSweep];

/**
 * Locks merchants' clocks in the database, for all instances. A lock is a transaction of its own, on a connection of
 * another pool: what a lock protects has other transactions, and must not wait for the connection of another lock.
 */
@Injectable()
export class ClockLocks implements OnApplicationShutdown {
  readonly #dataSource: DataSource;
  readonly #locks: UnitOfWork;
  #connected: Promise<unknown> | undefined;
  /** Requests that wait for the lock of one merchant leave connections for others. */
  readonly #queue: FairQueue;

  constructor(
    { DATABASE_URL, DATABASE_POOL_SIZE }: Config,
    private readonly clock: SandboxClock,
    private readonly unitOfWork: UnitOfWork,
  ) {
    const schema = { entities: ENTITIES, migrations: [] };
    this.#dataSource = new DataSource(dataSourceOptions(schema, DATABASE_URL, DATABASE_POOL_SIZE));
    this.#queue = queueForConnections(DATABASE_POOL_SIZE);
    this.#locks = new UnitOfWork(this.#dataSource, new DomainEvents());
  }

  async onApplicationShutdown(): Promise<void> {
    if (this.#dataSource.isInitialized) await this.#dataSource.destroy();
  }

  /** Works at the instant of a merchant's clock, which nothing moves meanwhile. */
  during<T>(merchantId: string, work: () => Promise<T>): Promise<T> {
    const lockAndWork = (): Promise<T> =>
      this.#transaction(async (manager) => {
        const { standsAt } = await this.#lock(manager, merchantId, 'pessimistic_read');
        return this.clock.during(merchantId, standsAt, work);
      }, false);
    return this.#queue.run(merchantId, lockAndWork);
  }

  /** Works while no clock that stands still is moved, with the time of each: for a command of the operator. */
  async duringAll<T>(work: () => Promise<T>): Promise<T> {
    const where = { standsAt: Not(IsNull()) };
    if (!(await this.unitOfWork.statement((manager) => manager.existsBy(MerchantClock, where)))) return work();
    return this.#transaction(async (manager) => {
      this.clock.keep(await manager.find(MerchantClock, { where, lock: { mode: 'pessimistic_read' } }));
      return work();
    }, false);
  }

  /** Moves a merchant's clock while no request of the merchant is handled. @param move may run several times. */
  whileIdle<T>(merchantId: string, move: (manager: EntityManager, clock: MerchantClock) => Promise<T>): Promise<T> {
    return this.#transaction(async (manager) =>
      move(manager, await this.#lock(manager, merchantId, 'pessimistic_write')),
    );
  }

  /** Connects when the first lock is needed. */
  async #transaction<T>(work: (manager: EntityManager) => Promise<T>, isRetried = true): Promise<T> {
    this.#connected ??= this.#dataSource.initialize();
    await this.#connected.catch((error: unknown) => {
      this.#connected = undefined;
      throw error;
    });
    return this.#locks.transaction(work, isRetried);
  }

  async #lock(
    manager: EntityManager,
    merchantId: string,
    mode: 'pessimistic_read' | 'pessimistic_write',
  ): Promise<MerchantClock> {
    const find = (): Promise<MerchantClock | null> =>
      manager.findOne(MerchantClock, { where: { merchantId }, lock: { mode } });
    const found = await find();
    if (found !== null) return found;
    await this.unitOfWork.statement((other) =>
      other.query('INSERT IGNORE INTO sandbox_clocks (merchant_id) VALUES (?)', [merchantId]),
    );
    return (await find())!;
  }
}

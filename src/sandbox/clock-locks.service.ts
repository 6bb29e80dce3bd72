import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Column, DataSource, Entity, type EntityManager, ForeignKey, IsNull, Not } from 'typeorm';
import { EventSweep } from '../events/event.entity.js';
import { Merchant } from '../merchants/merchant.entity.js';
import { Config } from '../platform/config/config.js';
import { InstantColumn, PrimaryId } from '../platform/database/columns.js';
import { dataSourceOptions } from '../platform/database/data-source.js';
import { columnNames, type Row, toEntity } from '../platform/database/rows.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { DomainEvents } from '../platform/values/domain-event.js';
import { type FairQueue, queueForConnections } from '../platform/values/fair-queue.js';
import { Clock } from '../platform/values/time.js';

const SEQUENCE = { type: 'bigint', nullable: true } as const;

/**
 * The clock of a merchant of a sandbox. Each request of the merchant locks the row for reading, and each step of a move
 * for writing: so nothing happens while the clock is moved.
 */
@Entity('sandbox_clocks')
export class MerchantClock {
  @PrimaryId('merchant_id')
  @ForeignKey(() => Merchant, { name: 'fk_sandbox_clocks_merchant' })
  merchantId!: string;

  /** The merchant's time. Until the first move it is null: the clock runs. */
  @InstantColumn('stands_at', { nullable: true })
  standsAt!: Date | null;

  /** Where the last move goes. */
  @InstantColumn('target', { nullable: true })
  target!: Date | null;

  /** The number in the feed from which on the last move caused events. */
  @Column({ name: 'first_sequence', ...SEQUENCE })
  firstSequence!: number | null;

  /** The last number in the feed when the last move was done; null while it is under way. */
  @Column({ name: 'last_sequence', ...SEQUENCE })
  lastSequence!: number | null;
}

/** Gives each merchant the time of its clock, while that is locked. */
@Injectable()
export class SandboxClock extends Clock {
  /** The clocks that stand still, of merchants that are worked for now. Their locks keep them from being moved. */
  readonly #standing = new Map<string, { at: Date; users: number }>();

  override now(merchantId = ''): Date {
    return this.#standing.get(merchantId)?.at ?? super.now();
  }

  /** Works at the instant of a merchant's clock. @param at null if the clock runs. */
  async during<T>(merchantId: string, at: Date | null, work: () => Promise<T>): Promise<T> {
    if (at === null) return work();
    const standing = this.#standing.get(merchantId) ?? { at, users: 0 };
    // If the connection of an earlier lock was lost, the clock may have been moved since.
    if (at > standing.at) standing.at = at;
    this.#standing.set(merchantId, standing);
    standing.users++;
    try {
      return await work();
    } finally {
      if (--standing.users === 0) this.#standing.delete(merchantId);
    }
  }

  /** Lets clocks stand still as long as the process runs: for a command of the operator. */
  keep(clocks: readonly { merchantId: string; standsAt: Date | null }[]): void {
    for (const { merchantId, standsAt } of clocks)
      if (standsAt !== null) this.#standing.set(merchantId, { at: standsAt, users: Infinity });
  }
}

/** Locks in words that MySQL and MariaDB have in common. TypeORM's for reading are those of MySQL. */
const FOR_READING = 'LOCK IN SHARE MODE';
const FOR_WRITING = 'FOR UPDATE';
type Lock = typeof FOR_READING | typeof FOR_WRITING;

const STANDING = { standsAt: Not(IsNull()) };

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
        const { standsAt } = await this.#lock(manager, merchantId, FOR_READING);
        return this.clock.during(merchantId, standsAt, work);
      }, false);
    return this.#queue.run(merchantId, lockAndWork);
  }

  /** For a command of the operator: keeps the time of all clocks that stand still. @returns whether any does. */
  async keepAll(): Promise<boolean> {
    const clocks = await this.unitOfWork.statement((manager) => manager.findBy(MerchantClock, STANDING));
    this.clock.keep(clocks);
    return clocks.length > 0;
  }

  /** For a command of the operator that changes something: works while no clock that stands still is moved. */
  async duringAll<T>(work: () => Promise<T>): Promise<T> {
    if (!(await this.keepAll())) return work();
    return this.#transaction(async (manager) => {
      this.clock.keep(await readLocked(manager, 'stands_at IS NOT NULL', [], FOR_READING));
      return work();
    }, false);
  }

  /**
   * Changes a merchant's clock while no request of the merchant is handled.
   *
   * @param change returns what to store. It may run several times.
   */
  change(
    merchantId: string,
    change: (clock: MerchantClock, manager: EntityManager) => Promise<Partial<MerchantClock>>,
  ): Promise<MerchantClock> {
    return this.#transaction(async (manager) => {
      const clock = await this.#lock(manager, merchantId, FOR_WRITING);
      const changes = await change(clock, manager);
      if (Object.keys(changes).length > 0) await manager.update(MerchantClock, { merchantId }, changes);
      return { ...clock, ...changes };
    });
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

  async #lock(manager: EntityManager, merchantId: string, lock: Lock): Promise<MerchantClock> {
    const find = async (): Promise<MerchantClock | undefined> =>
      (await readLocked(manager, 'merchant_id = ?', [merchantId], lock))[0];
    const found = await find();
    if (found !== undefined) return found;
    await this.unitOfWork.statement((other) =>
      other.query('INSERT IGNORE INTO sandbox_clocks (merchant_id) VALUES (?)', [merchantId]),
    );
    return (await find())!;
  }
}

async function readLocked(
  manager: EntityManager,
  condition: string,
  parameters: unknown[],
  lock: Lock,
): Promise<MerchantClock[]> {
  const columns = columnNames(manager, MerchantClock).join(', ');
  const rows = await manager.query<Row[]>(
    `SELECT ${columns} FROM sandbox_clocks WHERE ${condition} ${lock}`,
    parameters,
  );
  return rows.map((row) => toEntity(manager, MerchantClock, row));
}

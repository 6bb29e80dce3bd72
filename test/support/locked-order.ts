import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { createDataSource } from '../../src/schema.js';

interface OrderLock {
  /** Waits until this number of database connections wait for a locked row. */
  untilWaiting(count?: number): Promise<void>;
  release(): Promise<void>;
}

/**
 * Locks the row of an order, so that changes of the order wait. It uses its own connections, because the pool of the
 * service may have only one.
 */
export async function lockOrder(databaseUrl: string, orderId: string): Promise<OrderLock> {
  const own = await createDataSource(databaseUrl).initialize();
  const holder = own.createQueryRunner();
  await holder.startTransaction();
  await holder.query('SELECT id FROM orders WHERE id = ? FOR UPDATE', [orderId]);
  return {
    untilWaiting: (count = 1) => untilWaiting(own, count),
    release: async () => {
      await holder.rollbackTransaction();
      await holder.release();
      await own.destroy();
    },
  };
}

async function untilWaiting(dataSource: DataSource, count: number): Promise<void> {
  for (let attempt = 0; attempt < 2000; attempt++) {
    // InnoDB's transaction list would be more direct, but it is stale when it is queried more than ten times per
    // second.
    const rows = await dataSource.query<unknown[]>(
      "SELECT 1 FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID() AND info LIKE '%FOR UPDATE%'",
    );
    if (rows.length >= count) return;
    await sleep(10);
  }
  throw new Error('no request waits for the lock');
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { createDataSource } from '../../src/schema.js';

export interface OrderLock {
  /** Resolves once so many connections to the database stand before a row that is locked. */
  untilWaiting(howMany?: number): Promise<void>;
  release(): Promise<void>;
}

/**
 * Holds the lock of an order's row, so that whatever wants to change the order waits. It has connections of its own:
 * the pool of a service may consist of a single one.
 */
export async function lockOrder(databaseUrl: string, orderId: string): Promise<OrderLock> {
  const own = await createDataSource(databaseUrl).initialize();
  const holder = own.createQueryRunner();
  await holder.startTransaction();
  await holder.query('SELECT id FROM orders WHERE id = ? FOR UPDATE', [orderId]);
  return {
    untilWaiting: (howMany = 1) => untilWaiting(own, howMany),
    release: async () => {
      await holder.rollbackTransaction();
      await holder.release();
      await own.destroy();
    },
  };
}

async function untilWaiting(dataSource: DataSource, howMany: number): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    // The list of InnoDB's transactions would say it directly, but is stale for whoever asks more than ten times a second.
    const rows = await dataSource.query<unknown[]>(
      "SELECT 1 FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID() AND info LIKE '%FOR UPDATE%'",
    );
    if (rows.length >= howMany) return;
    await sleep(10);
  }
  throw new Error('nobody waits for the lock');
}

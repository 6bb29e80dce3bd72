import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';

/** Holds the lock of an order's row, so that whatever wants to change the order waits. */
export async function lockOrder(dataSource: DataSource, orderId: string): Promise<{ release(): Promise<void> }> {
  const holder = dataSource.createQueryRunner();
  await holder.startTransaction();
  await holder.query('SELECT id FROM orders WHERE id = ? FOR UPDATE', [orderId]);
  return {
    release: async () => {
      await holder.rollbackTransaction();
      await holder.release();
    },
  };
}

/** Resolves once so many connections to the database stand before a row that is locked. */
export async function untilWaitingForLock(dataSource: DataSource, howMany = 1): Promise<void> {
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

import { afterAll, beforeAll } from '@jest/globals';
import type { DataSource } from 'typeorm';
import { createDataSource } from '../../src/schema.js';
import { FrozenClock } from './clock.js';
import { createMigratedDatabase, type TestDatabase } from './database.js';
import { type Service, startService } from './service.js';
import { startedLater } from './use-service.js';

/**
 * Starts a service whose requests all use one connection, because the server counts the rows that a session reads, and
 * a frozen clock. It stops after the tests of the calling file.
 *
 * @returns also a connection without a time limit, to write many rows, whose statements are not counted
 */
export function useOneConnection(): { service: Service; dataSource: DataSource; clock: FrozenClock } {
  const clock = new FrozenClock();
  const service = startedLater<Service>('the service');
  const dataSource = startedLater<DataSource>('the data source');
  let database: TestDatabase | undefined;
  beforeAll(async () => {
    database = await createMigratedDatabase();
    dataSource.set(await createDataSource(database.url).initialize());
    service.set(await startService({ databaseUrl: database.url, env: { DATABASE_POOL_SIZE: '1' }, clock }));
  });
  afterAll(async () => {
    await service.get()?.stop();
    await dataSource.get()?.destroy();
    await database?.drop();
  });
  return { service: service.object, dataSource: dataSource.object, clock };
}

import { afterAll, beforeAll } from '@jest/globals';
import { AdminCommandLine } from './admin.js';
import { createMigratedDatabase, type TestDatabase } from './database.js';
import { type Service, startService } from './service.js';
import { startedLater } from './use-service.js';

/**
 * Starts a service on its own database before the tests of the calling file or `describe`, with the admin CLI of that
 * database, and stops it after them.
 *
 * @returns objects to use in hooks and tests: before the service has started, any use of their members throws
 */
export function useAdmin(): { service: Service; admin: AdminCommandLine } {
  const database = startedLater<TestDatabase>('the database');
  const service = startedLater<Service>('the service');
  beforeAll(async () => {
    const { url } = database.set(await createMigratedDatabase());
    service.set(await startService({ databaseUrl: url }));
  });
  afterAll(async () => {
    await service.get()?.stop();
    await database.get()?.drop();
  });
  return { service: service.object, admin: new AdminCommandLine(database.object) };
}

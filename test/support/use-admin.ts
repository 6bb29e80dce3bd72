import { afterAll, beforeAll } from '@jest/globals';
import { AdminCommandLine } from './admin.js';
import { createMigratedDatabase, type TestDatabase } from './database.js';
import { type Service, startService } from './service.js';

/**
 * Starts a service on a database of its own before the tests of the calling file or `describe`, with the admin CLI of
 * that database, and stops it after them.
 *
 * @returns objects that work only from then on, so use their members only in hooks and tests
 */
export function useAdmin(): { service: Service; admin: AdminCommandLine } {
  const database = {} as TestDatabase;
  const service = {} as Service;
  beforeAll(async () => {
    Object.assign(database, await createMigratedDatabase());
    Object.assign(service, await startService({ databaseUrl: database.url }));
  });
  afterAll(async () => {
    await service.stop();
    await database.drop();
  });
  return { service, admin: new AdminCommandLine(database) };
}

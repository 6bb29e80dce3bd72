import { afterAll, beforeAll } from '@jest/globals';
import { AdminCommandLine } from './admin.js';
import { type Service, startService } from './service.js';
import { startedLater } from './use-service.js';

/**
 * Starts a service without a merchant before the tests of the calling file or `describe`, with the admin CLI of its
 * database, and stops it after them.
 *
 * @returns objects to use in hooks and tests: before the service has started, any use of their members throws
 */
export function useAdmin(): { service: Service; admin: AdminCommandLine } {
  const service = startedLater<Service>('the service');
  beforeAll(async () => void service.set(await startService()));
  afterAll(() => service.get()?.stop());
  return { service: service.object, admin: new AdminCommandLine(service.object) };
}

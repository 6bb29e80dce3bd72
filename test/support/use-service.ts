import { afterAll, beforeAll } from '@jest/globals';
import { type BuiltService, startBuiltService } from './built-service.js';
import { createMigratedDatabase, type TestDatabase } from './database.js';
import { aMerchant, type TestMerchant } from './factories.js';
import { type Service, type ServiceOptions, startService } from './service.js';

interface Options extends ServiceOptions {
  /** Creates the merchant. The default is a merchant with the default policy. */
  merchant?: (service: Service) => Promise<TestMerchant>;
}

/**
 * Starts a service with a merchant before the tests of the calling file or `describe`, and stops it after them.
 *
 * @returns objects to use in hooks and tests: before the service has started, any use of their members throws
 */
export function useService({ merchant: create = aMerchant, ...options }: Options = {}): {
  service: Service;
  merchant: TestMerchant;
} {
  const service = startedLater<Service>('the service');
  const merchant = startedLater<TestMerchant>('the merchant');
  beforeAll(async () => {
    merchant.set(await create(service.set(await startService(options))));
  });
  afterAll(() => service.get()?.stop());
  return { service: service.object, merchant: merchant.object };
}

/** Starts the built service on a database of its own before the tests, and stops it after them. */
export function useBuiltService(env: Record<string, string> = {}): BuiltService & { databaseUrl: string } {
  const service = startedLater<BuiltService & { databaseUrl: string }>('the service');
  let database: TestDatabase | undefined;
  beforeAll(async () => {
    database = await createMigratedDatabase();
    service.set({ ...(await startBuiltService(database.url, env)), databaseUrl: database.url });
  });
  afterAll(async () => {
    await service.get()?.stop();
    await database?.drop();
  });
  return service.object;
}

interface StartedLater<T> {
  /** Has the members of the object that `set` got. Until then, any use of a member throws. */
  object: T;
  set(value: T): T;
  get(): T | undefined;
}

/** Returns an object that a test file can name before a hook has created it. */
export function startedLater<T extends object>(what: string): StartedLater<T> {
  let current: T | undefined;
  const use = (): T => {
    if (current === undefined) throw new Error(`${what} is used before it has started: use it only in hooks and tests`);
    return current;
  };
  const object = new Proxy({} as T, {
    get: (_, name) => Reflect.get(use(), name) as unknown,
    set: (_, name, value) => Reflect.set(use(), name, value),
    has: (_, name) => Reflect.has(use(), name),
    ownKeys: () => Reflect.ownKeys(use()),
    getOwnPropertyDescriptor: (_, name) => Reflect.getOwnPropertyDescriptor(use(), name),
  });
  return { object, set: (value) => (current = value), get: () => current };
}

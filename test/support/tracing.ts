import { afterAll, beforeAll } from '@jest/globals';
import { createDataSource } from '../../src/schema.js';
import type { BuiltService } from './built-service.js';
import { Client } from './client.js';
import { Collector } from './collector.js';
import { createMigratedDatabase, type TestDatabase } from './database.js';
import { PASSWORD } from './factories.js';
import { seedMerchant } from './seed.js';
import { startedLater } from './use-service.js';
import type { Tokens } from './shop.js';

/** Makes Node print each module that it loads. */
export const DEBUG_MODULES = { NODE_DEBUG: 'module', LOG_LEVEL: 'fatal' };
/** What the output contains if the tracing modules were loaded. */
export const TRACER = /@opentelemetry\/(sdk-trace|instrumentation|exporter)/;

/**
 * Starts a collector of spans and creates a database with a merchant, before the tests of the calling file.
 *
 * @returns objects to use in hooks and tests: before they exist, any use of their members throws
 */
export function useCollector() {
  const database = startedLater<TestDatabase>('the database');
  const collector = new Collector();
  const target = { url: '' };
  const credentials = { email: '', password: PASSWORD };
  beforeAll(async () => {
    const { url } = database.set(await createMigratedDatabase());
    credentials.email = await seedMerchant(createDataSource(url));
    target.url = await collector.start();
  });
  afterAll(async () => {
    await collector.stop();
    await database.get()?.drop();
  });
  const logIn = async (service: BuiltService): Promise<{ access_token: string }> =>
    (await new Client(service).post<Tokens>('/auth/login', credentials)).body;
  return { database: database.object, collector, target, credentials, logIn };
}

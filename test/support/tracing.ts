import { afterAll, beforeAll } from '@jest/globals';
import { createDataSource } from '../../src/schema.js';
import type { BuiltService } from './built-service.js';
import { Client } from './client.js';
import { Collector } from './collector.js';
import { createMigratedDatabase, type TestDatabase } from './database.js';
import { PASSWORD } from './factories.js';
import { seedMerchant } from './seed.js';

/** Makes Node print each module that it loads. */
export const DEBUG_MODULES = { NODE_DEBUG: 'module', LOG_LEVEL: 'fatal' };
/** What the output contains if the tracing modules were loaded. */
export const TRACER = /@opentelemetry\/(sdk-trace|instrumentation|exporter)/;

/**
 * Starts a collector of spans and creates a database with a merchant, before the tests of the calling file.
 *
 * @returns objects that are empty until then, so use their members only in hooks and tests
 */
export function useCollector() {
  const database = {} as TestDatabase;
  const collector = new Collector();
  const target = { url: '' };
  const credentials = { email: '', password: PASSWORD };
  beforeAll(async () => {
    Object.assign(database, await createMigratedDatabase());
    credentials.email = await seedMerchant(createDataSource(database.url));
    target.url = await collector.start();
  });
  afterAll(async () => {
    await collector.stop();
    await database.drop();
  });
  const logIn = async (service: BuiltService): Promise<{ access_token: string }> =>
    (await new Client(service).post('/auth/login', credentials)).body;
  return { database, collector, target, credentials, logIn };
}

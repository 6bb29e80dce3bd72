import type { INestApplication } from '@nestjs/common';
import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { DataSource } from 'typeorm';
import { AppModule } from '../../src/app.module.js';
import { Clock } from '../../src/platform/values/time.js';
import { SweepsService } from '../../src/operations/sweeps.service.js';
import { NestLogger } from '../../src/platform/observe/logger.js';
import { loadConfig } from '../../src/platform/config/config.js';
import { APP_OPTIONS, configureApp } from '../../src/app.module.js';
import { httpAdapter } from '../../src/platform/http/http-server.js';
import { TestClock } from './clock.js';
import { createMigratedDatabase } from './database.js';
import { assertNoSecrets } from './log-secrets.js';
import { refuseWithoutMerchant } from './merchant-conditions.js';
import { untilAvailable } from './until-available.js';

export const TEST_SECRET = 'a-signing-secret-of-the-tests-alone-0123456789';

/** The environment of a service under test, with cheap bcrypt and high rate limits. */
export function testEnvironment(databaseUrl: string): Record<string, string> {
  return {
    NODE_ENV: 'test',
    DATABASE_URL: databaseUrl,
    JWT_SECRET: TEST_SECRET,
    BCRYPT_COST: '4',
    RATE_LIMIT: '0',
    LOGIN_RATE_LIMIT: '100000',
    PORT: '0',
    SHUTDOWN_DELAY_SECONDS: '0',
    LOG_LEVEL: 'debug',
    WEBHOOK_ALLOW_PRIVATE: 'true',
    ...(process.env.TEST_POOL_SIZE && { DATABASE_POOL_SIZE: process.env.TEST_POOL_SIZE }),
    ...(process.env.TEST_BATCH && { BATCH: process.env.TEST_BATCH }),
  };
}

/** A service with its own port and, by default, its own database. */
export interface Service {
  url: string;
  databaseUrl: string;
  clock: TestClock;
  /** The connection pool of the service, to read rows. */
  dataSource: DataSource;
  app: INestApplication;
  /** The log lines of the service. */
  logged: string[];
  stop(): Promise<void>;
}

export interface ServiceOptions {
  /** Environment variables that differ from `testEnvironment`. */
  env?: Record<string, string>;
  /** Replaces a provider, for example with an unsafe variant that a test must detect. */
  override?: (builder: TestingModuleBuilder) => TestingModuleBuilder;
  /** An existing database, for a second instance. It is not dropped. */
  databaseUrl?: string;
  clock?: TestClock;
}

export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const database = options.databaseUrl === undefined ? await createMigratedDatabase() : undefined;
  const databaseUrl = options.databaseUrl ?? database?.url ?? '';
  const config = loadConfig({ ...testEnvironment(databaseUrl), ...options.env });
  const clock = options.clock ?? new TestClock();
  const logged: string[] = [];
  const logger = pino({ level: config.LOG_LEVEL }, lines(logged));
  const plain = Test.createTestingModule({ imports: [AppModule.with(config)] });
  // A sandbox has clocks of its own.
  const builder = config.SANDBOX ? plain : plain.overrideProvider(Clock).useValue(clock);
  const moduleRef = await (options.override?.(builder) ?? builder).compile();
  const app = moduleRef.createNestApplication(httpAdapter(), {
    ...APP_OPTIONS,
    logger: new NestLogger(logger),
  });
  configureApp(app, logger);
  await app.listen(0, '127.0.0.1');
  clock.sweep = () => untilAvailable(() => app.get(SweepsService).doAll());
  return {
    url: (await app.getUrl()).replace('[::1]', '127.0.0.1'),
    databaseUrl,
    clock,
    dataSource: refuseWithoutMerchant(app.get(DataSource)),
    app,
    logged,
    stop: async () => {
      await app.close();
      await database?.drop();
      assertNoSecrets(logged.join(''));
    },
  };
}

function lines(into: string[]): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      into.push(chunk.toString());
      done();
    },
  });
}

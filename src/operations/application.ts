import { type DynamicModule, type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { randomBytes } from 'node:crypto';
import { UserNames } from '../auth/user-names.service.js';
import { type Config, ConfigModule, loadProcessConfig } from '../platform/config/config.js';
import { DatabaseServer } from '../platform/database/database-server.js';
import { createLogger, NestLogger } from '../platform/observe/logger.js';
import { DatabaseModule, PlatformModule } from '../platform/platform.module.js';
import { ClockLocks } from '../sandbox/clock-locks.service.js';
import { SandboxClockModule } from '../sandbox/sandbox.module.js';
import { SCHEMA } from '../schema.js';
import { AuditService } from './audit.service.js';
import { OperationsModule } from './operations.module.js';
import { printRecord } from './output.js';

@Module({})
class AdminModule {}

const modulesOf = (config: Readonly<Config>): DynamicModule => ({
  module: AdminModule,
  imports: [
    ConfigModule.with(config),
    SandboxClockModule,
    DatabaseModule.with(SCHEMA),
    PlatformModule,
    OperationsModule,
  ],
});

type Work = (services: INestApplicationContext) => Promise<unknown>;

/** Runs a command with the service's modules and prints its result, if any, on stdout. */
export const runWithServices = (command: Work): Promise<void> =>
  withServices(async (services) => {
    // Of a sandbox. A live database has none.
    await services.get(ClockLocks).keepAll();
    return command(services);
  });

/** It connects to the database only here, so that `--help` needs none. */
async function withServices(work: Work): Promise<void> {
  // The command line signs nothing. Without the service's secret, nothing recognizes its grants after an erasure.
  // It counts no requests, so it needs no Redis.
  const { REDIS_URL: _, ...config } = loadProcessConfig({ JWT_SECRET: randomBytes(32).toString('hex') });
  const logger = new NestLogger(createLogger({ ...config, LOG_LEVEL: 'silent' }));
  const services = await NestFactory.createApplicationContext(modulesOf(config), {
    logger,
    abortOnError: false,
  });
  try {
    const result = await work(services);
    if (result !== undefined) printRecord(await services.get(UserNames).fillIn(result as object));
  } finally {
    await services.close();
  }
}

/**
 * Runs a command that changes something, records it in the audit log, and prints its result.
 *
 * @param command such as `cashback grant`.
 * @param details the command's options, without secrets and documents.
 * @param change returns the result and, for the audit log, the IDs of what it changed.
 */
export function runChange(
  command: string,
  details: Record<string, unknown>,
  change: (services: INestApplicationContext) => Promise<{ result: unknown; changed: Record<string, unknown> }>,
): Promise<void> {
  return withServices(async (services) => {
    await services.get(DatabaseServer).check();
    return services
      .get(ClockLocks)
      .duringAll(() => services.get(AuditService).record(command, details, () => change(services)));
  });
}

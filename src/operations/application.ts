import { type DynamicModule, type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { MerchantsService } from '../merchants/merchants.service.js';
import { type Config, ConfigModule, loadProcessConfig } from '../platform/config/config.js';
import { DatabaseServer } from '../platform/database/database-server.js';
import { createLogger, NestLogger } from '../platform/observe/logger.js';
import { DatabaseModule, PlatformModule } from '../platform/platform.module.js';
import { ClockLocks } from '../sandbox/clock-locks.service.js';
import { SandboxClockModule } from '../sandbox/sandbox.module.js';
import { SCHEMA } from '../schema.js';
import { AuditService } from './audit.service.js';
import { OperatorModule } from './operator.module.js';

@Module({})
class AdminModule {}

const modulesOf = (config: Readonly<Config>): DynamicModule => ({
  module: AdminModule,
  imports: [ConfigModule.with(config), SandboxClockModule, DatabaseModule.with(SCHEMA), PlatformModule, OperatorModule],
});

/** Runs a command with the service's modules. */
export async function withServices(work: (services: INestApplicationContext) => Promise<void>): Promise<void> {
  // It counts no requests, so it needs no Redis.
  const { REDIS_URL: _, ...config } = loadProcessConfig();
  const logger = new NestLogger(createLogger({ ...config, LOG_LEVEL: 'silent' }));
  const services = await NestFactory.createApplicationContext(modulesOf(config), { logger, abortOnError: false });
  try {
    // Of a sandbox. A live database has none.
    await services.get(ClockLocks).keepAll();
    await work(services);
  } finally {
    await services.close();
  }
}

/**
 * Returns the ID of the merchant that a command names; without one, of the only merchant.
 *
 * @throws Error; Problem not_found.
 */
export async function merchantOf(services: INestApplicationContext, id: string | undefined): Promise<string> {
  const merchants = services.get(MerchantsService);
  if (id !== undefined) return (await merchants.get(id.toLowerCase())).id;
  const [only, ...others] = await merchants.list();
  if (only === undefined || others.length > 0) throw new Error('add --merchant <id>');
  return only.id;
}

/**
 * Makes a change, and records it in the audit log.
 *
 * @param command such as `grants create`.
 * @param details what it is asked to do, without secrets and personal data.
 * @param change returns its result and, for the audit log, the IDs of what it changed.
 */
export async function changing<T>(
  services: INestApplicationContext,
  command: string,
  details: Record<string, unknown>,
  change: () => Promise<{ result: T; changed: Record<string, unknown> }>,
): Promise<T> {
  await services.get(DatabaseServer).check();
  return services.get(ClockLocks).duringAll(() => services.get(AuditService).record(command, details, change));
}

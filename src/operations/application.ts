import { type DynamicModule, type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type Merchant } from '../merchants/merchant.entity.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { type Config, ConfigModule, loadProcessConfig } from '../platform/config/config.js';
import { DatabaseServer } from '../platform/database/database-server.js';
import { createLogger, NestLogger } from '../platform/observe/logger.js';
import { DatabaseModule, PlatformModule } from '../platform/platform.module.js';
import { UUID } from '../platform/values/ids.js';
import { notFound } from '../platform/values/problem.js';
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

/** Runs a command with the service's modules. @param defaults of variables that the command does not need. */
export async function withServices(
  work: (services: INestApplicationContext) => Promise<void>,
  defaults: Record<string, string> = {},
): Promise<void> {
  // It counts no requests, so it needs no Redis.
  const { REDIS_URL: _, ...config } = loadProcessConfig(defaults);
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

/** Returns the ID of the merchant that a command names by its ID or its name. @throws Problem not_found; Error. */
export async function merchantNamed(
  services: INestApplicationContext,
  named: string | undefined,
): Promise<string | undefined> {
  if (named === undefined || UUID.test(named.toLowerCase())) return named?.toLowerCase();
  const found = (await services.get(MerchantsService).list()).filter(({ name }) => name === named);
  if (found.length > 1) throw severalMerchants(found);
  if (found[0] === undefined) throw notFound('no merchant has this ID or name');
  return found[0].id;
}

/** Returns all merchants. @throws Error if there is none. */
export async function allMerchants(services: INestApplicationContext): Promise<Merchant[]> {
  const all = await services.get(MerchantsService).list();
  if (all.length === 0) throw severalMerchants(all);
  return all;
}

/** Returns the merchant with an ID; without one, the only merchant. @throws Problem not_found; Error. */
export async function oneMerchant(services: INestApplicationContext, id: string | undefined): Promise<Merchant> {
  if (id !== undefined) return services.get(MerchantsService).get(id);
  const [only, ...others] = await allMerchants(services);
  if (others.length > 0) throw severalMerchants([only!, ...others]);
  return only!;
}

/** Says which merchants there are to choose from. */
const severalMerchants = (all: readonly Merchant[]): Error =>
  new Error(
    all.length === 0
      ? 'there is no merchant: create one'
      : `which merchant? add --merchant <id>: ${all
          .slice(0, 10)
          .map(({ id, name }) => `${id} (${name})`)
          .join(', ')}`,
  );

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

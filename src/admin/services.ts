import { randomBytes } from 'node:crypto';
import { type DynamicModule, type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ApiUsersModule } from '../auth/api-users.module.js';
import { CashbackModule } from '../cashback/cashback.module.js';
import { ClockModule } from '../common/clock.js';
import { createLogger, NestLogger } from '../logging/logger.js';
import { type Config, loadProcessConfig } from '../config/config.js';
import { ConfigModule } from '../config/config.module.js';
import { DatabaseModule } from '../database/database.module.js';
import { MerchantsModule } from '../merchants/merchants.module.js';
import { ReconcileModule } from '../reconcile/reconcile.module.js';
import { SCHEMA } from '../schema.js';
import { StatementsService } from '../wallets/statements.service.js';
import { ContentDigests } from '../orders/content-digests.js';
import { AuditService } from './audit.service.js';
import { ErasureService } from '../orders/erasure.service.js';

@Module({})
class AdminModule {
  static with(config: Readonly<Config>): DynamicModule {
    return {
      module: AdminModule,
      imports: [
        ConfigModule.with(config),
        ClockModule,
        DatabaseModule.with(SCHEMA),
        MerchantsModule,
        ApiUsersModule,
        CashbackModule,
        ReconcileModule,
      ],
      providers: [AuditService, ContentDigests, ErasureService, StatementsService],
    };
  }
}

/**
 * Runs a command over the service's own modules and prints what it returns, if anything, as JSON on stdout. Nothing
 * is opened before, so `--help` needs no database.
 */
export async function runWithServices(command: (services: INestApplicationContext) => Promise<unknown>): Promise<void> {
  // The command line signs nothing, so it needs no secret of the service's.
  const config = loadProcessConfig({ JWT_SECRET: randomBytes(32).toString('hex') });
  const logger = new NestLogger(createLogger({ ...config, LOG_LEVEL: 'silent' }));
  const services = await NestFactory.createApplicationContext(AdminModule.with(config), {
    logger,
    abortOnError: false,
  });
  try {
    const result = await command(services);
    if (result !== undefined) console.log(JSON.stringify(result, null, 2));
  } finally {
    await services.close();
  }
}

/** What a command that changes something tells the audit log. */
interface Change {
  /** Such as `cashback grant`. */
  command: string;
  /** What the command was given; neither secrets nor documents. */
  details: Record<string, unknown>;
}

/**
 * Runs a command that changes something, records it in the audit log, and prints what it returns.
 *
 * @param change returns what is printed and, for the audit log, the ids of what it changed.
 */
export function runChange(
  { command, details }: Change,
  change: (services: INestApplicationContext) => Promise<{ result: unknown; changed: Record<string, unknown> }>,
): Promise<void> {
  return runWithServices((services) => services.get(AuditService).record(command, details, () => change(services)));
}

import { randomBytes } from 'node:crypto';
import { type DynamicModule, type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ApiUsersModule } from '../auth/api-users.module.js';
import { CashbackModule } from '../cashback/cashback.module.js';
import { createLogger, NestLogger } from '../logging/logger.js';
import { type Config, ConfigModule, loadProcessConfig } from '../config/config.js';
import { DatabaseModule } from '../database/database.module.js';
import { DatabaseServer } from '../database/database-server.js';
import { MerchantsModule } from '../merchants/merchants.module.js';
import { ReconcileModule } from '../reconcile/reconcile.module.js';
import { LoginCounts } from '../rate-limits/login-counts.js';
import { SCHEMA } from '../schema.js';
import { ClockLocks } from '../sandbox/clock-locks.service.js';
import { SandboxClockModule } from '../sandbox/sandbox-clock.module.js';
import { WalletReadsService } from '../wallets/wallet-reads.service.js';
import { AuditService } from '../audit/audit.service.js';
import { RecordsService } from './records.service.js';
import { UserWorkService } from './user-work.service.js';
import { printRecord } from './rows.js';
import { ExpiringService } from '../reports/expiring.service.js';
import { FrequentService } from '../reports/frequent.service.js';
import { GrantsReportService } from '../reports/grants-report.service.js';
import { LedgerService } from '../reports/ledger.service.js';
import { OutstandingService } from '../reports/outstanding.service.js';
import { ErasureService } from '../orders/erasure.service.js';
import { OrderListingService } from '../orders/order-listing.service.js';
import { OrderStore } from '../orders/order.store.js';
import { OrderTransactionsService } from '../orders/order-transactions.service.js';
import { OrdersService } from '../orders/orders.service.js';
import { RefundsService } from '../orders/refunds.service.js';
import { CreditListingService } from '../wallets/credit-listing.service.js';
import { CustomersService } from '../wallets/customers.service.js';
import { GrantListingService } from '../wallets/grant-listing.service.js';
import { EventsService } from '../events/events.service.js';
import { DeliveryService } from '../webhooks/delivery.service.js';
import { PrivacyService } from '../privacy/privacy.service.js';
import { WebhookEndpointsService } from '../webhooks/webhook-endpoints.service.js';
import { WebhookSecrets } from '../webhooks/webhook-secrets.js';

@Module({})
class AdminModule {
  static with(config: Readonly<Config>): DynamicModule {
    return {
      module: AdminModule,
      imports: [
        ConfigModule.with(config),
        SandboxClockModule,
        DatabaseModule.with(SCHEMA),
        MerchantsModule,
        ApiUsersModule,
        CashbackModule,
        ReconcileModule,
      ],
      providers: [
        AuditService,
        CreditListingService,
        CustomersService,
        GrantListingService,
        OrderListingService,
        OrderStore,
        OrderTransactionsService,
        RefundsService,
        ErasureService,
        ExpiringService,
        FrequentService,
        GrantsReportService,
        LedgerService,
        LoginCounts,
        OrdersService,
        OutstandingService,
        PrivacyService,
        RecordsService,
        UserWorkService,
        WalletReadsService,
        EventsService,
        WebhookEndpointsService,
        DeliveryService,
        WebhookSecrets,
      ],
    };
  }
}

type Work = (services: INestApplicationContext) => Promise<unknown>;

/** Runs a command with the service's modules and prints its result, if any, on stdout. */
export function runWithServices(command: Work): Promise<void> {
  return withServices(async (services) => {
    // Of a sandbox. A live database has none.
    await services.get(ClockLocks).keepAll();
    return command(services);
  });
}

/** It connects to the database only here, so that `--help` needs none. */
async function withServices(work: Work): Promise<void> {
  // The command line signs nothing. Without the service's secret, nothing recognizes its grants after an erasure.
  const config = loadProcessConfig({ JWT_SECRET: randomBytes(32).toString('hex') });
  const logger = new NestLogger(createLogger({ ...config, LOG_LEVEL: 'silent' }));
  const services = await NestFactory.createApplicationContext(AdminModule.with(config), {
    logger,
    abortOnError: false,
  });
  try {
    const result = await work(services);
    if (result !== undefined) printRecord(result as object);
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

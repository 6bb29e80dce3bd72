import { Module } from '@nestjs/common';
import { MerchantsModule } from '../merchants/merchants.module.js';
import { LedgerService } from './ledger.service.js';
import { ExpiringService, OutstandingService } from './outstanding.service.js';
import { PeriodReportsService } from './period-reports.service.js';
import { ReportsController } from './reports.controller.js';
import { SumsService } from './sums.service.js';

const PROVIDERS = [ExpiringService, PeriodReportsService, LedgerService, SumsService, OutstandingService];

/** Reports over all customers of a merchant, over HTTP and for the command line, and the sums that they read. */
@Module({ imports: [MerchantsModule], controllers: [ReportsController], providers: PROVIDERS, exports: PROVIDERS })
export class ReportsModule {}

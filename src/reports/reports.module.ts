import { Module } from '@nestjs/common';
import { MerchantsModule } from '../merchants/merchants.module.js';
import { ExpiringService } from './outstanding.service.js';
import { FrequentService } from './frequent.service.js';
import { GrantsReportService } from './grants-report.service.js';
import { LedgerService } from './ledger.service.js';
import { LedgerSumsService } from './ledger-sums.service.js';
import { OutstandingService } from './outstanding.service.js';
import { ReportsController } from './reports.controller.js';

const PROVIDERS = [
  ExpiringService,
  FrequentService,
  GrantsReportService,
  LedgerService,
  LedgerSumsService,
  OutstandingService,
];

/** Reports over all customers of a merchant, over HTTP and for the command line, and the sums that they read. */
@Module({ imports: [MerchantsModule], controllers: [ReportsController], providers: PROVIDERS, exports: PROVIDERS })
export class ReportsModule {}

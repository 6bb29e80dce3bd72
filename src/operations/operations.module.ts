import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { CashbackModule } from '../cashback/cashback.module.js';
import { EventsModule } from '../events/events.module.js';
import { MerchantsModule } from '../merchants/merchants.module.js';
import { OrdersModule } from '../orders/orders.module.js';
import { ReportsModule } from '../reports/reports.module.js';
import { PrivacyController } from './privacy.controller.js';
import { PrivacyService } from './privacy.service.js';
import { ReconcileService } from './reconcile/reconcile.service.js';
import { OperatorGrantsService, SweepsService } from './sweeps.service.js';

/** What is done for a whole merchant or for all: by the operator, by date, or because the law says so. */
@Module({
  imports: [AuthModule, CashbackModule, EventsModule, MerchantsModule, OrdersModule, ReportsModule],
  controllers: [PrivacyController],
  providers: [OperatorGrantsService, PrivacyService, ReconcileService, SweepsService],
})
export class OperationsModule {}

import { Module } from '@nestjs/common';
import { CashbackModule } from '../cashback/cashback.module.js';
import { EventsModule } from '../events/events.module.js';
import { OrdersModule } from '../orders/orders.module.js';
import { ReportsModule } from '../reports/reports.module.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { SweepsService } from './sweeps.service.js';

/** What the service does without a request. The rules are in the modules that it imports. */
@Module({
  imports: [OrdersModule, CashbackModule, EventsModule, WebhooksModule, ReportsModule],
  providers: [SweepsService],
})
export class SweepsModule {}

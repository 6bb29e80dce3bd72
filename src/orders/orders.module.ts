import { Module } from '@nestjs/common';
import { CashbackModule } from '../cashback/cashback.module.js';
import { MerchantsModule } from '../merchants/merchants.module.js';
import { ContentDigests } from './order-content.js';
import { ErasureService } from './erasure.service.js';
import { OrderChanges } from './order-changes.js';
import { OrderLifecycleService } from './order-lifecycle.service.js';
import { OrderListingService } from './order-listing.service.js';
import { OrderLock } from './order-lock.js';
import { OrdersController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';
import { PolicyController } from './policy.controller.js';
import { QuotesController } from './quotes.controller.js';
import { QuotesService } from './quotes.service.js';
import { RefundsController } from './refunds.controller.js';
import { RefundsService } from './refunds.service.js';

@Module({
  imports: [CashbackModule, MerchantsModule],
  controllers: [OrdersController, RefundsController, QuotesController, PolicyController],
  providers: [
    OrdersService,
    OrderListingService,
    QuotesService,
    OrderLifecycleService,
    RefundsService,
    OrderLock,
    OrderChanges,
    ContentDigests,
    ErasureService,
  ],
})
export class OrdersModule {}

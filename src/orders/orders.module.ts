import { Module } from '@nestjs/common';
import { ApiUsersModule } from '../auth/api-users.module.js';
import { CashbackModule } from '../cashback/cashback.module.js';
import { MerchantsModule } from '../merchants/merchants.module.js';
import { CustomerChangesService } from './customer-changes.service.js';
import { ErasureService } from './erasure.service.js';
import { OrderTransactionsService } from './order-transactions.service.js';
import { OrderExpiryService } from './order-expiry.service.js';
import { OrderLifecycleService } from './order-lifecycle.service.js';
import { OrderListingService } from './order-listing.service.js';
import { OrderTimelineService } from './order-timeline.service.js';
import { OrderStore } from './order.store.js';
import { OrdersController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';
import { PolicyController, QuotesController } from './quotes.controller.js';
import { QuotesService } from './quotes.service.js';
import { RefundListController, RefundsController } from './refunds.controller.js';
import { RefundsService } from './refunds.service.js';

@Module({
  imports: [ApiUsersModule, CashbackModule, MerchantsModule],
  controllers: [OrdersController, RefundsController, RefundListController, QuotesController, PolicyController],
  providers: [
    OrdersService,
    OrderListingService,
    OrderTimelineService,
    QuotesService,
    OrderLifecycleService,
    OrderExpiryService,
    RefundsService,
    OrderTransactionsService,
    OrderStore,
    ErasureService,
    CustomerChangesService,
  ],
  exports: [OrderExpiryService, ErasureService],
})
export class OrdersModule {}

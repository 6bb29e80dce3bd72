import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { CashbackModule } from '../cashback/cashback.module.js';
import { MerchantsModule } from '../merchants/merchants.module.js';
import { CustomerChangesService } from './customer-changes.service.js';
import { ErasureService } from './erasure.service.js';
import { OrderTransactionsService } from './order-transactions.service.js';
import { OrderExpiryService } from './order-expiry.service.js';
import { OrderLifecycleService } from './order-lifecycle.service.js';
import { OrderStore } from './order.store.js';
import { OrdersController, QuotesController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';
import { QuotesService } from './quotes.service.js';
import { RefundListController, RefundsController } from './refunds.controller.js';
import { RefundsService } from './refunds.service.js';

const PROVIDERS = [
  OrdersService,
  QuotesService,
  OrderLifecycleService,
  OrderExpiryService,
  RefundsService,
  OrderTransactionsService,
  OrderStore,
  ErasureService,
  CustomerChangesService,
];

@Module({
  imports: [AuthModule, CashbackModule, MerchantsModule],
  controllers: [OrdersController, RefundsController, RefundListController, QuotesController],
  providers: PROVIDERS,
  exports: PROVIDERS,
})
export class OrdersModule {}

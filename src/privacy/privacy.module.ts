import { Module } from '@nestjs/common';
import { CashbackModule } from '../cashback/cashback.module.js';
import { MerchantsModule } from '../merchants/merchants.module.js';
import { OrdersModule } from '../orders/orders.module.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { PrivacyController } from './privacy.controller.js';
import { PrivacyService } from './privacy.service.js';

/** What a customer can ask a merchant for: all stored data, and its erasure. */
@Module({
  imports: [CashbackModule, MerchantsModule, OrdersModule, WebhooksModule],
  controllers: [PrivacyController],
  providers: [PrivacyService],
})
export class PrivacyModule {}

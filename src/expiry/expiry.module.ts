import { Module } from '@nestjs/common';
import { CashbackModule } from '../cashback/cashback.module.js';
import { Metrics } from '../metrics/metrics.js';
import { OrdersModule } from '../orders/orders.module.js';
import { ExpiryService } from './expiry.service.js';

/** What happens by date. The rules are in `orders` and `cashback`. */
@Module({ imports: [OrdersModule, CashbackModule], providers: [ExpiryService] })
export class ExpiryModule {
  constructor(expiry: ExpiryService, metrics: Metrics) {
    metrics.gauge(
      'expiry_lag_seconds',
      'How long orders and credits that are due may have waited for this instance to expire them',
      () => expiry.lag,
    );
  }
}

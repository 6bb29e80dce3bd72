import { Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Config } from '../config/config.js';
import { Metrics } from '../metrics/metrics.js';
import { LoginLimit } from './login-limit.js';
import { OrdersLimitGuard } from './orders-limit.guard.js';
import { connectRedis } from './redis.js';
import { RefreshLimit } from './refresh-limit.js';
import { RateLimitStore } from './store.js';
import { RateLimitSweeper } from './sweeper.js';

/** How often someone may do something: log-ins, renewals, orders. */
@Module({
  providers: [
    {
      provide: RateLimitStore,
      inject: [DataSource, Config, Metrics],
      useFactory: async (dataSource: DataSource, config: Config, metrics: Metrics) =>
        new RateLimitStore(dataSource, config, metrics, await connectRedis(config.REDIS_URL)),
    },
    RateLimitSweeper,
    LoginLimit,
    RefreshLimit,
    OrdersLimitGuard,
  ],
  exports: [LoginLimit, RefreshLimit, OrdersLimitGuard, RateLimitStore],
})
export class RateLimitsModule {}

import { Module } from '@nestjs/common';
import { Config } from '../config/config.js';
import { Metrics } from '../metrics/metrics.js';
import { CounterKeys } from './counter-keys.js';
import { LoginCounts } from './login-counts.js';
import { LoginLimit } from './login-limit.js';
import { RateLimiter } from './rate-limiter.js';
import { connectRedis } from './redis.js';

/** Rate limits: `RateLimiter` counts requests, `LoginLimit` counts failed logins. */
@Module({
  providers: [
    CounterKeys,
    {
      provide: RateLimiter,
      inject: [CounterKeys, Config, Metrics],
      useFactory: async (keys: CounterKeys, config: Config, metrics: Metrics) =>
        new RateLimiter(keys, metrics, await connectRedis(config.REDIS_URL)),
    },
    LoginCounts,
    LoginLimit,
  ],
  exports: [RateLimiter, LoginLimit],
})
export class RateLimitsModule {}

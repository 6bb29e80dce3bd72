import { Module } from '@nestjs/common';
import { Config } from '../config/config.js';
import { LoginCounts } from './login-counts.js';
import { LoginLimit } from './login-limit.js';
import { connectRedis, RateLimiter } from './rate-limiter.js';

/** Rate limits: `RateLimiter` counts requests, `LoginLimit` counts failed logins. */
@Module({
  providers: [
    {
      provide: RateLimiter,
      inject: [Config],
      useFactory: async (config: Config) => new RateLimiter(config, await connectRedis(config.REDIS_URL)),
    },
    LoginCounts,
    LoginLimit,
  ],
  exports: [RateLimiter, LoginCounts, LoginLimit],
})
export class RateLimitsModule {}

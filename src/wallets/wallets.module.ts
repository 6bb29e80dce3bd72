import { Module } from '@nestjs/common';
import { CashbackModule } from '../cashback/cashback.module.js';
import { RateLimitsModule } from '../rate-limits/rate-limits.module.js';
import { StatementsService } from './statements.service.js';
import { WalletsController } from './wallets.controller.js';

/** Customers' wallets over HTTP; what they are is in `cashback`, which knows none. */
@Module({
  imports: [CashbackModule, RateLimitsModule],
  controllers: [WalletsController],
  providers: [StatementsService],
  exports: [StatementsService],
})
export class WalletsModule {}

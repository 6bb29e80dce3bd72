import { Module } from '@nestjs/common';
import { BalancesService } from './balances.service.js';
import { WalletsService } from './wallets.service.js';

@Module({
  providers: [BalancesService, WalletsService],
  exports: [BalancesService, WalletsService],
})
export class CashbackModule {}

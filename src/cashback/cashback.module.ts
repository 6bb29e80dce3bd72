import { Module } from '@nestjs/common';
import { MerchantsModule } from '../merchants/merchants.module.js';
import { BalancesService } from './balances.service.js';
import { GrantsService } from './grants.service.js';
import { WalletsService } from './wallets.service.js';

@Module({
  imports: [MerchantsModule],
  providers: [BalancesService, WalletsService, GrantsService],
  exports: [BalancesService, WalletsService, GrantsService],
})
export class CashbackModule {}

import { Module } from '@nestjs/common';
import { MerchantsModule } from '../merchants/merchants.module.js';
import { BalancesService } from './balances.service.js';
import { GrantsService } from './grants.service.js';
import { ReconcileService } from './reconcile.service.js';
import { StatementsService } from './statements.service.js';
import { WalletsService } from './wallets.service.js';

@Module({
  imports: [MerchantsModule],
  providers: [BalancesService, WalletsService, GrantsService, StatementsService, ReconcileService],
  exports: [BalancesService, WalletsService, GrantsService, StatementsService, ReconcileService],
})
export class CashbackModule {}

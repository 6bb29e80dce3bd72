import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { MerchantsModule } from '../merchants/merchants.module.js';
import { BalancesService } from './balances.service.js';
import { CreditExpiryService } from './credit-expiry.service.js';
import { DebitsController } from './debits.controller.js';
import { DebitsService } from './debits.service.js';
import { FreezesService } from './freezes.service.js';
import { GrantsController } from './grants.controller.js';
import { GrantsService } from './grants.service.js';
import { Replays } from './replay.js';
import { WalletReadsService } from './wallet-reads.service.js';
import { WalletStore } from './wallet.store.js';
import { CreditsController, CustomersController, EntriesController, WalletsController } from './wallets.controller.js';

const PROVIDERS = [
  BalancesService,
  CreditExpiryService,
  DebitsService,
  FreezesService,
  GrantsService,
  Replays,
  WalletReadsService,
  WalletStore,
];

@Module({
  imports: [AuthModule, MerchantsModule],
  controllers: [
    WalletsController,
    GrantsController,
    DebitsController,
    CustomersController,
    CreditsController,
    EntriesController,
  ],
  providers: PROVIDERS,
  exports: PROVIDERS,
})
export class CashbackModule {}

import { Module } from '@nestjs/common';
import { MerchantsModule } from '../merchants/merchants.module.js';
import { BalancesService } from './balances.service.js';
import { CreditExpiryService } from './credit-expiry.service.js';
import { GrantsService } from './grants.service.js';
import { OperatorGrantsService } from './operator-grants.service.js';
import { Replays } from './replay.js';
import { WalletStore } from './wallet.store.js';

const PROVIDERS = [BalancesService, WalletStore, Replays, GrantsService, CreditExpiryService, OperatorGrantsService];

@Module({ imports: [MerchantsModule], providers: PROVIDERS, exports: PROVIDERS })
export class CashbackModule {}

import { Module } from '@nestjs/common';
import { MerchantsModule } from '../merchants/merchants.module.js';
import { BalancesService } from './balances.service.js';
import { CreditExpiryService } from './credit-expiry.service.js';
import { ContentDigests } from './content-digests.js';
import { GrantBatchesService } from './grant-batches.service.js';
import { GrantsService } from './grants.service.js';
import { OperatorGrantsService } from './operator-grants.service.js';
import { WalletsService } from './wallets.service.js';

const PROVIDERS = [
  BalancesService,
  WalletsService,
  ContentDigests,
  GrantsService,
  GrantBatchesService,
  CreditExpiryService,
  OperatorGrantsService,
];

@Module({ imports: [MerchantsModule], providers: PROVIDERS, exports: PROVIDERS })
export class CashbackModule {}

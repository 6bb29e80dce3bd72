import { Module } from '@nestjs/common';
import { ApiUsersModule } from '../auth/api-users.module.js';
import { CashbackModule } from '../cashback/cashback.module.js';
import { MerchantsModule } from '../merchants/merchants.module.js';
import { CreditListingService } from './credit-listing.service.js';
import { CreditsController } from './credits.controller.js';
import { CustomersController } from './customers.controller.js';
import { CustomersService } from './customers.service.js';
import { GrantListingService } from './grant-listing.service.js';
import { GrantsController } from './grants.controller.js';
import { WalletReadsService } from './wallet-reads.service.js';
import { WalletsController } from './wallets.controller.js';

/** The HTTP API of customers' wallets. The rules are in `cashback`, which has no HTTP. */
@Module({
  imports: [ApiUsersModule, CashbackModule, MerchantsModule],
  controllers: [WalletsController, GrantsController, CustomersController, CreditsController],
  providers: [WalletReadsService, GrantListingService, CustomersService, CreditListingService],
})
export class WalletsModule {}

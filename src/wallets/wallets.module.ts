import { Module } from '@nestjs/common';
import { CashbackModule } from '../cashback/cashback.module.js';
import { WalletsController } from './wallets.controller.js';

/** Customers' wallets over HTTP; what they are is in `cashback`, which knows none. */
@Module({ imports: [CashbackModule], controllers: [WalletsController] })
export class WalletsModule {}

import { Injectable } from '@nestjs/common';
import { Reads } from '../platform/database/reads.js';
import { notFound } from '../platform/values/problem.js';
import { type ExpiringReportDto } from './expiring.dto.js';
import { EXPIRING } from './expiring.js';
import { summarize } from './wallet-sums.js';
import { toWalletDto, unknownCustomer, type WalletDto } from './wallet.dto.js';
import { NO_WALLET, walletOf } from './wallet.entity.js';

@Injectable()
export class WalletReadsService {
  constructor(private readonly reads: Reads) {}

  /** Returns a customer's wallet; all amounts are zero for an unknown customer. */
  search(merchantId: string, document: string): Promise<WalletDto> {
    return this.reads.read(merchantId, { merchantId, document }, async ({ manager, query, timeZone, now }) => {
      const wallet = await summarize(manager, query, now);
      return wallet === null ? unknownCustomer(document) : toWalletDto(wallet, timeZone);
    });
  }

  /** Returns a wallet by its ID. @throws Problem not_found, also for a wallet of another merchant. */
  get(merchantId: string, walletId: string): Promise<WalletDto> {
    return this.reads.read(merchantId, { id: walletId, merchantId }, async ({ manager, query, timeZone, now }) => {
      const wallet = await summarize(manager, await walletOf(manager, query), now);
      if (wallet === null) throw notFound(NO_WALLET);
      return toWalletDto(wallet, timeZone);
    });
  }

  /** Returns what expires in this month and the following ones. @throws Problem not_found, as `get`. */
  expiring(merchantId: string, walletId: string, months: number): Promise<ExpiringReportDto> {
    return this.reads.read(merchantId, { id: walletId, merchantId }, async (asked) => {
      const wallet = await walletOf(asked.manager, asked.query);
      return EXPIRING({ ...asked, query: { months, wallet } });
    });
  }
}

import { Injectable } from '@nestjs/common';
import { MoreThan } from 'typeorm';
import { Reads } from '../platform/database/reads.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { notFound } from '../platform/values/problem.js';
import { type CreditDto } from './credit.dto.js';
import { Credit } from './credit.entity.js';
import { type ExpiringReportDto } from './expiring.dto.js';
import { EXPIRING } from './expiring.js';
import { summarize } from './wallet-sums.js';
import { type EntryDto, toWalletDto, unknownCustomer, type WalletDto } from './wallet.dto.js';
import { NO_WALLET, walletOf, type WalletOwner } from './wallet.entity.js';
import { CREDITS_OF_WALLET, ENTRIES } from './wallet.list.js';

/** A wallet as the operator sees it. */
type ShownWallet = WalletDto & { time_zone: string; open_credits: number; credits: CreditDto[]; entries: EntryDto[] };

@Injectable()
export class WalletReadsService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly reads: Reads,
  ) {}

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

  /**
   * Returns a wallet for the operator: its open credits, earliest expiry first, and its latest entries, at most `limit`
   * of each, and the number of open credits.
   *
   * @param of a customer of a merchant, or a wallet's ID, because an erased customer has no document.
   * @throws Problem not_found.
   */
  async show(of: WalletOwner | { walletId: string }, limit: number): Promise<ShownWallet> {
    const owner =
      'walletId' in of ? await this.unitOfWork.statement((manager) => walletOf(manager, { id: of.walletId })) : of;
    const { merchantId } = owner;
    const shown = await this.reads.read(merchantId, owner, async ({ manager, query, timeZone, now }) => {
      const wallet = await summarize(manager, query, now);
      if (wallet === null) throw notFound('walletId' in of ? NO_WALLET : 'no wallet has this document');
      const { id } = wallet;
      const open_credits = await manager.countBy(Credit, {
        walletId: id,
        merchantId,
        isOpen: 1,
        expiresAt: MoreThan(now),
      });
      return { ...toWalletDto(wallet, timeZone), id, time_zone: timeZone, open_credits };
    });
    const { data: credits } = await this.reads.page(merchantId, { limit, walletId: shown.id }, CREDITS_OF_WALLET);
    const { data: entries } = await this.reads.page(merchantId, { limit, walletId: shown.id }, ENTRIES);
    return { ...shown, credits, entries };
  }
}

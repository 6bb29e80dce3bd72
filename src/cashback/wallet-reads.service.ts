import { Injectable } from '@nestjs/common';
import { type EntityManager, MoreThan } from 'typeorm';
import { ALL_MERCHANTS } from '../platform/database/by-merchant.js';
import { entitiesOf, type PageRequest } from '../platform/database/lists.js';
import { Reads } from '../platform/database/reads.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { notFound } from '../platform/values/problem.js';
import { type CreditDto, type CreditPageDto } from './credit.dto.js';
import { Credit } from './credit.entity.js';
import { Entry } from './entry.entity.js';
import { type ExpiringReportDto } from './expiring.dto.js';
import { EXPIRING } from './expiring.js';
import { readNames } from './external-names.js';
import { summarize } from './wallet-sums.js';
import {
  type EntryDto,
  type EntryPageDto,
  nameable,
  toCreditDto,
  toEntryDto,
  toWalletDto,
  unknownCustomer,
  type WalletDto,
} from './wallet.dto.js';
import { Wallet, type WalletOwner } from './wallet.entity.js';

const NO_WALLET = 'no wallet has this ID';

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
      const wallet = await summarize(manager, await find(manager, query), now);
      if (wallet === null) throw notFound(NO_WALLET);
      return toWalletDto(wallet, timeZone);
    });
  }

  /**
   * Returns a page of a wallet's open credits, earliest expiry first.
   *
   * @throws Problem not_found, also for a wallet of another merchant; validation_failed if the cursor is not valid.
   */
  credits(merchantId: string, walletId: string, page: PageRequest): Promise<CreditPageDto> {
    return this.reads.page(merchantId, page, async ({ manager, timeZone, now }) => {
      await find(manager, { id: walletId, merchantId });
      return {
        name: `credits ${walletId}`,
        table: 'cashback_credits',
        instant: 'expires_at',
        number: 'seq',
        order: 'ASC',
        whole: Credit,
        ranges: [{ index: 'ix_cashback_credits_expiry', prefix: [['wallet_id = ?', walletId], ['is_open = 1']] }],
        period: { from: now.getTime() + 1, to: Infinity },
        present: async (found) => {
          const credits = entitiesOf(manager, Credit, found);
          const names = await readNames(manager, merchantId, credits.map(nameable));
          return credits.map((credit) => toCreditDto(credit, names, timeZone));
        },
      };
    });
  }

  /** Returns what expires in this month and the following ones. @throws Problem not_found, as `get`. */
  expiring(merchantId: string, walletId: string, months: number): Promise<ExpiringReportDto> {
    return this.reads.read(merchantId, { id: walletId, merchantId }, async (asked) => {
      const wallet = await find(asked.manager, asked.query);
      return EXPIRING({ ...asked, query: { months, wallet } });
    });
  }

  /**
   * Returns a page of a statement, newest first.
   *
   * @throws Problem not_found, also for a wallet of another merchant; validation_failed if the cursor is not valid.
   */
  entries(merchantId: string, walletId: string, page: PageRequest): Promise<EntryPageDto> {
    return this.reads.page(merchantId, page, async ({ manager }) => {
      await find(manager, { id: walletId, merchantId });
      return {
        name: `entries ${walletId}`,
        table: 'cashback_entries',
        number: 'seq',
        order: 'DESC',
        whole: Entry,
        ranges: [{ index: 'PRIMARY', prefix: [['wallet_id = ?', walletId]] }],
        present: async (found) => {
          const entries = entitiesOf(manager, Entry, found);
          const names = await readNames(manager, merchantId, entries);
          return entries.map((entry) => toEntryDto(entry, names));
        },
      };
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
      'walletId' in of ? await this.unitOfWork.statement((manager) => find(manager, { id: of.walletId })) : of;
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
    const { data: credits } = await this.credits(merchantId, shown.id, { limit });
    const { data: entries } = await this.entries(merchantId, shown.id, { limit });
    return { ...shown, credits, entries };
  }
}

/** @throws Problem not_found. */
async function find(manager: EntityManager, where: { id: string; merchantId?: string }): Promise<Wallet> {
  const wallet = await manager.findOne(Wallet, {
    where,
    ...(where.merchantId === undefined && { comment: ALL_MERCHANTS }),
  });
  if (wallet === null) throw notFound(NO_WALLET);
  return wallet;
}

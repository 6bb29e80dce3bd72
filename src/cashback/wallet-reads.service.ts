import { Injectable } from '@nestjs/common';
import { type EntityManager, MoreThan } from 'typeorm';
import { MerchantsService } from '../merchants/merchants.service.js';
import { ALL_MERCHANTS } from '../platform/database/by-merchant.js';
import { entitiesOf, Lists, type PageRequest } from '../platform/database/lists.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { notFound } from '../platform/values/problem.js';
import { Clock } from '../platform/values/time.js';
import { type CreditDto, type CreditPageDto } from './credit.dto.js';
import { Credit } from './credit.entity.js';
import { Entry } from './entry.entity.js';
import { type ExpiringReportDto } from './expiring.dto.js';
import { expiringByMonth } from './expiring.js';
import { readNames } from './external-names.js';
import { summarize, type WalletSummary } from './wallet-sums.js';
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
    private readonly lists: Lists,
    private readonly merchants: MerchantsService,
    private readonly clock: Clock,
  ) {}

  /** Returns a customer's wallet; all amounts are zero for an unknown customer. */
  async search(merchantId: string, document: string): Promise<WalletDto> {
    const { timeZone } = await this.merchants.policyOf(merchantId);
    const wallet = await this.unitOfWork.snapshot((manager) => this.#summary(manager, { merchantId, document }));
    return wallet === null ? unknownCustomer(document) : toWalletDto(wallet, timeZone);
  }

  /** Returns a wallet by its ID. @throws Problem not_found, also for a wallet of another merchant. */
  async get(merchantId: string, walletId: string): Promise<WalletDto> {
    const { timeZone } = await this.merchants.policyOf(merchantId);
    return this.unitOfWork.snapshot(async (manager) => {
      const wallet = await this.#summary(manager, await find(manager, { id: walletId, merchantId }));
      if (wallet === null) throw notFound(NO_WALLET);
      return toWalletDto(wallet, timeZone);
    });
  }

  /**
   * Returns a page of a wallet's open credits, earliest expiry first.
   *
   * @throws Problem not_found, also for a wallet of another merchant; validation_failed if the cursor is not valid.
   */
  async credits(merchantId: string, walletId: string, page: PageRequest): Promise<CreditPageDto> {
    const { timeZone } = await this.merchants.policyOf(merchantId);
    return this.lists.page(merchantId, page, async (manager) => {
      await find(manager, { id: walletId, merchantId });
      return {
        name: `credits ${walletId}`,
        table: 'cashback_credits',
        instant: 'expires_at',
        number: 'seq',
        order: 'ASC',
        whole: Credit,
        ranges: [{ index: 'ix_cashback_credits_expiry', prefix: [['wallet_id = ?', walletId], ['is_open = 1']] }],
        period: { from: this.clock.now(merchantId).getTime() + 1, to: Infinity },
        present: async (_, found) => {
          const credits = entitiesOf(manager, Credit, found);
          const names = await readNames(manager, merchantId, credits.map(nameable));
          return credits.map((credit) => toCreditDto(credit, names, timeZone));
        },
      };
    });
  }

  /** Returns what expires in this month and the following ones. @throws Problem not_found, as `get`. */
  async expiring(merchantId: string, walletId: string, months: number): Promise<ExpiringReportDto> {
    const { timeZone } = await this.merchants.policyOf(merchantId);
    const period = { now: this.clock.now(merchantId), timeZone, months };
    return this.unitOfWork.snapshot(async (manager) => {
      const { id, document } = await find(manager, { id: walletId, merchantId });
      return { data: await expiringByMonth(manager, { id, merchantId, document }, period) };
    });
  }

  /**
   * Returns a page of a statement, newest first.
   *
   * @throws Problem not_found, also for a wallet of another merchant; validation_failed if the cursor is not valid.
   */
  entries(merchantId: string, walletId: string, page: PageRequest): Promise<EntryPageDto> {
    return this.lists.page(merchantId, page, async (manager) => {
      await find(manager, { id: walletId, merchantId });
      return {
        name: `entries ${walletId}`,
        table: 'cashback_entries',
        number: 'seq',
        order: 'DESC',
        whole: Entry,
        ranges: [{ index: 'PRIMARY', prefix: [['wallet_id = ?', walletId]] }],
        present: async (_, found) => {
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
    const { timeZone } = await this.merchants.policyOf(merchantId);
    const shown = await this.unitOfWork.snapshot(async (manager) => {
      const wallet = await this.#summary(manager, owner);
      if (wallet === null) throw notFound('walletId' in of ? NO_WALLET : 'no wallet has this document');
      const { id } = wallet;
      const open = { walletId: id, merchantId, isOpen: 1, expiresAt: MoreThan(this.clock.now(merchantId)) };
      return {
        ...toWalletDto(wallet, timeZone),
        id,
        time_zone: timeZone,
        open_credits: await manager.countBy(Credit, open),
      };
    });
    const { data: credits } = await this.credits(merchantId, shown.id, { limit });
    const { data: entries } = await this.entries(merchantId, shown.id, { limit });
    return { ...shown, credits, entries };
  }

  #summary(manager: EntityManager, owner: WalletOwner): Promise<WalletSummary | null> {
    return summarize(manager, owner, this.clock.now(owner.merchantId));
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

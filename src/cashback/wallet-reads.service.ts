import { Injectable } from '@nestjs/common';
import { type EntityManager, LessThan, MoreThan } from 'typeorm';
import { readUserNames } from '../auth/user-names.service.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { ALL_MERCHANTS } from '../platform/database/by-merchant.js';
import { decodeCursor, pageOf, type PageRequest } from '../platform/database/pages.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { notFound } from '../platform/values/problem.js';
import { Clock } from '../platform/values/time.js';
import { type CreditDto, type CreditPageDto } from './credit.dto.js';
import { Credit } from './credit.entity.js';
import { Entry } from './entry.entity.js';
import { type ExpiringReportDto } from './expiring.dto.js';
import { expiringByMonth } from './expiring.js';
import { readNames } from './external-names.js';
import { type CreditPosition, openCredits } from './wallet-credits.js';
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
    return this.unitOfWork.snapshot(async (manager) =>
      this.#credits(manager, await find(manager, { id: walletId, merchantId }), timeZone, page),
    );
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
  entries(merchantId: string, walletId: string, { limit, cursor }: PageRequest): Promise<EntryPageDto> {
    return this.unitOfWork.snapshot(async (manager) => {
      const wallet = await find(manager, { id: walletId, merchantId });
      const list = `entries ${walletId}`;
      const [before = wallet.lastSeq + 1] = cursor === undefined ? [] : decodeCursor(list, cursor, ['number']);
      const where = { walletId, merchantId, seq: LessThan(before) };
      const found = await manager.find(Entry, { where, order: { seq: 'DESC' }, take: limit + 1 });
      const { page, next_cursor } = pageOf(list, found, limit, ({ seq }) => [seq]);
      const names = await readNames(manager, merchantId, page);
      const whoIs = await readUserNames(
        manager,
        page.map(({ madeBy }) => madeBy),
      );
      return { data: page.map((entry) => toEntryDto(entry, names, whoIs)), next_cursor };
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
        credits: (await this.#credits(manager, { id, merchantId }, timeZone, { limit })).data,
      };
    });
    const { data: entries } = await this.entries(merchantId, shown.id, { limit });
    return { ...shown, entries };
  }

  async #credits(
    manager: EntityManager,
    wallet: Pick<Wallet, 'id' | 'merchantId'>,
    timeZone: string,
    { limit, cursor }: PageRequest,
  ): Promise<CreditPageDto> {
    const list = `credits ${wallet.id}`;
    const after = cursor === undefined ? undefined : positionOf(list, cursor);
    const now = this.clock.now(wallet.merchantId);
    const [found = []] = await openCredits(manager, [{ wallet, now, after, limit: limit + 1, availableOnly: false }]);
    const { page, next_cursor } = pageOf(list, found, limit, ({ expiresAt, seq }) => [+expiresAt, seq]);
    const names = await readNames(manager, wallet.merchantId, page.map(nameable));
    return { data: page.map((credit) => toCreditDto(credit, names, timeZone)), next_cursor };
  }

  #summary(manager: EntityManager, owner: WalletOwner): Promise<WalletSummary | null> {
    return summarize(manager, owner, this.clock.now(owner.merchantId));
  }
}

/** @throws Problem validation_failed if the cursor is not valid. */
function positionOf(list: string, cursor: string): CreditPosition {
  const [at, seq] = decodeCursor(list, cursor, ['number', 'number']);
  return { expiresAt: new Date(at), seq };
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

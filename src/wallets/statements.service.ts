import { Injectable } from '@nestjs/common';
import { type EntityManager, LessThan, MoreThan } from 'typeorm';
import { Credit } from '../cashback/credit.entity.js';
import { Entry } from '../cashback/entry.entity.js';
import { type DatedAmount, summarize, type WalletSummary } from '../cashback/wallet-summary.js';
import { openCredits } from '../cashback/wallet-rows.js';
import { Wallet, type WalletOwner } from '../cashback/wallet.entity.js';
import { Clock } from '../common/clock.js';
import { decodeCursor, pageOf, type PageRequest } from '../common/cursor.js';
import { formatMoney } from '../common/money.js';
import { notFound } from '../common/problem.js';
import { ALL_MERCHANTS } from '../database/all-merchants.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import type { EntryDto, EntryPageDto, NextAmountDto, WalletDto } from './dto/wallet.dto.js';

/** Maximum number of credits and of entries that `show` lists. */
const SHOWN = 100;

const NO_WALLET = 'no wallet has this ID';

const ZERO = formatMoney(0);
const UNKNOWN_CUSTOMER: WalletDto = {
  id: null,
  available: ZERO,
  pending: ZERO,
  held: ZERO,
  debt: ZERO,
  next_release: null,
  next_expiry: null,
};

/** A wallet as the operator sees it. */
type ShownWallet = WalletDto & { open_credits: number; credits: object[]; entries: EntryDto[] };

/** Reads wallets and their statements, without locks. */
@Injectable()
export class StatementsService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  /** Returns a customer's wallet; all amounts are zero for an unknown customer. */
  async search(merchantId: string, document: string): Promise<WalletDto> {
    const wallet = await this.unitOfWork.snapshot((manager) => this.#summary(manager, { merchantId, document }));
    return wallet === null ? UNKNOWN_CUSTOMER : toWalletDto(wallet);
  }

  /** Returns a wallet by its ID. @throws Problem not_found, also for a wallet of another merchant. */
  async get(merchantId: string, walletId: string): Promise<WalletDto> {
    return this.unitOfWork.snapshot(async (manager) => {
      const owner = await ownerOf(manager, { id: walletId, merchantId });
      const wallet = await this.#summary(manager, owner);
      if (wallet === null) throw notFound(NO_WALLET);
      return toWalletDto(wallet);
    });
  }

  /** Returns a page of a statement, newest first. @throws Problem not_found, also for a wallet of another merchant. */
  entries(merchantId: string, walletId: string, { limit, cursor }: PageRequest): Promise<EntryPageDto> {
    return this.unitOfWork.statement(async (manager) => {
      if (!(await manager.existsBy(Wallet, { id: walletId, merchantId }))) throw notFound(NO_WALLET);
      const before = cursor === undefined ? undefined : decodeCursor(cursor, 'number')[0];
      const rows = await manager.find(Entry, {
        where: { walletId, merchantId, ...(before !== undefined && { seq: LessThan(before) }) },
        order: { seq: 'DESC' },
        take: limit + 1,
      });
      const { page, next_cursor } = pageOf(rows, limit, ({ seq }) => [seq]);
      return { data: page.map(toEntryDto), next_cursor };
    });
  }

  /**
   * Returns a wallet for the operator: its open credits, earliest expiry first, and its latest entries, at most 100 of
   * each, and the number of open credits.
   *
   * @param of a customer of a merchant, or a wallet's ID, because an erased customer has no document.
   * @throws Problem not_found.
   */
  async show(of: WalletOwner | { walletId: string }): Promise<ShownWallet> {
    const { merchantId, ...shown } = await this.unitOfWork.snapshot(async (manager) => {
      const owner = 'walletId' in of ? await ownerOf(manager, { id: of.walletId }) : of;
      const wallet = await this.#summary(manager, owner);
      if (wallet === null) throw notFound('walletId' in of ? NO_WALLET : 'no wallet has this document');
      const { merchantId } = owner;
      const [id, now] = [wallet.id, this.clock.now()];
      const page = { wallet: { id, merchantId }, now, after: undefined, limit: SHOWN, availableOnly: false };
      const open = { walletId: id, merchantId, isOpen: 1, expiresAt: MoreThan(now) };
      return {
        merchantId,
        ...toWalletDto(wallet),
        id,
        open_credits: await manager.countBy(Credit, open),
        credits: (await openCredits(manager, page)).map(toCreditJson),
      };
    });
    const { data: entries } = await this.entries(merchantId, shown.id, { limit: SHOWN });
    return { ...shown, entries };
  }

  #summary(manager: EntityManager, owner: WalletOwner): Promise<WalletSummary | null> {
    return summarize(manager, owner, this.clock.now());
  }
}

/** @throws Problem not_found. */
async function ownerOf(manager: EntityManager, where: { id: string; merchantId?: string }): Promise<WalletOwner> {
  const wallet = await manager.findOne(Wallet, {
    where,
    ...(where.merchantId === undefined && { comment: ALL_MERCHANTS }),
  });
  if (wallet === null) throw notFound(NO_WALLET);
  return { merchantId: wallet.merchantId, document: wallet.document };
}

function toWalletDto(wallet: WalletSummary): WalletDto {
  return {
    id: wallet.id,
    available: formatMoney(wallet.availableCents),
    pending: formatMoney(wallet.pendingCents),
    held: formatMoney(wallet.heldCents),
    debt: formatMoney(wallet.debtCents),
    next_release: toNextAmountDto(wallet.nextRelease),
    next_expiry: toNextAmountDto(wallet.nextExpiry),
  };
}

function toNextAmountDto(next: DatedAmount | null): NextAmountDto | null {
  return next && { amount: formatMoney(next.cents), at: next.at };
}

function toEntryDto(entry: Entry): EntryDto {
  return {
    seq: entry.seq,
    kind: entry.kind,
    amount: formatMoney(entry.amountCents),
    balance: formatMoney(entry.balanceCents),
    debt: formatMoney(entry.debtCents),
    order_id: entry.orderId,
    refund_id: entry.refundId,
    credit_id: entry.creditId,
    effective_at: entry.effectiveAt,
    created_at: entry.createdAt,
  };
}

function toCreditJson(credit: Credit): object {
  return {
    id: credit.id,
    amount: formatMoney(credit.amountCents),
    remaining: formatMoney(credit.remainingCents),
    available_at: credit.availableAt,
    expires_at: credit.expiresAt,
    order_id: credit.orderId,
    reason: credit.reason,
  };
}

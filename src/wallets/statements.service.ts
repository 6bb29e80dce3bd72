import { Injectable } from '@nestjs/common';
import { LessThan } from 'typeorm';
import { Clock } from '../common/clock.js';
import { formatMoney, sumCents } from '../common/money.js';
import { decodeCursor, encodeCursor } from '../common/cursor.js';
import { notFound } from '../common/problem.js';
import type { PageQueryDto } from '../http/page-query.dto.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import type { Credit } from '../cashback/credit.entity.js';
import type { EntryDto, EntryPageDto, NextAmountDto, WalletDto } from './dto/wallet.dto.js';
import { Entry } from '../cashback/entry.entity.js';
import type { WalletAggregate } from '../cashback/wallet-aggregate.js';
import { isAvailable } from '../cashback/expiry.js';
import { Wallet } from '../cashback/wallet.entity.js';
import { WalletsService } from '../cashback/wallets.service.js';

const ZERO = formatMoney(0);
const NEVER_SEEN: WalletDto = {
  id: null,
  available: ZERO,
  pending: ZERO,
  held: ZERO,
  debt: ZERO,
  next_release: null,
  next_expiry: null,
};

/** Reads wallets and their statements; nothing is locked or written. */
@Injectable()
export class StatementsService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly wallets: WalletsService,
    private readonly clock: Clock,
  ) {}

  /** A customer's wallet; zeros for one never seen. */
  async search(merchantId: string, document: string): Promise<WalletDto> {
    const wallet = await this.#view(merchantId, document);
    return wallet === null ? NEVER_SEEN : toWalletDto(wallet);
  }

  /** A page of a statement, newest first. @throws Problem not_found, also for a wallet of another merchant. */
  entries(merchantId: string, walletId: string, { limit, cursor }: PageQueryDto): Promise<EntryPageDto> {
    return this.unitOfWork.statement(async (manager) => {
      if (!(await manager.existsBy(Wallet, { id: walletId, merchantId }))) throw notFound();
      const before = cursor === undefined ? undefined : decodeCursor(cursor, 'number')[0];
      const rows = await manager.find(Entry, {
        where: { walletId, ...(before !== undefined && { seq: LessThan(before) }) },
        order: { seq: 'DESC' },
        take: limit + 1,
      });
      const page = rows.slice(0, limit);
      const last = rows.length > limit ? page.at(-1) : undefined;
      return { data: page.map(toEntryDto), next_cursor: last === undefined ? null : encodeCursor([last.seq]) };
    });
  }

  /** For the operator: the wallet with its credits and latest entries. @throws Problem not_found. */
  async show(merchantId: string, document: string): Promise<WalletDto & { credits: object[]; entries: EntryDto[] }> {
    const open = await this.#view(merchantId, document);
    if (open === null) throw notFound();
    const { data: entries } = await this.entries(merchantId, open.wallet.id, { limit: 100 });
    return { ...toWalletDto(open), credits: open.credits.map(toCreditJson), entries };
  }

  #view(merchantId: string, document: string): Promise<WalletAggregate | null> {
    return this.unitOfWork.snapshot((manager) =>
      this.wallets.view(manager, { merchantId, document }, this.clock.now()),
    );
  }
}

function toWalletDto(open: WalletAggregate): WalletDto {
  const pending = open.credits.filter((credit) => credit.availableAt > open.now);
  const available = open.credits.filter((credit) => isAvailable(credit, open.now));
  return {
    id: open.wallet.id,
    available: formatMoney(open.availableCents),
    pending: formatMoney(open.pendingCents),
    held: formatMoney(open.heldCents),
    debt: formatMoney(open.wallet.debtCents),
    next_release: nextAmount(pending, (credit) => credit.availableAt),
    next_expiry: nextAmount(available, (credit) => credit.expiresAt),
  };
}

/** What the credits that come first by a date amount to together. */
function nextAmount(credits: Credit[], dateOf: (credit: Credit) => Date): NextAmountDto | null {
  const left = credits.filter((credit) => credit.remainingCents > 0);
  const first = Math.min(...left.map((credit) => dateOf(credit).getTime()));
  const due = left.filter((credit) => dateOf(credit).getTime() === first);
  return due.length === 0
    ? null
    : { amount: formatMoney(sumCents(due.map((credit) => credit.remainingCents))), at: new Date(first) };
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

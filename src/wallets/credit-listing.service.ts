import { Injectable } from '@nestjs/common';
import { type EntityManager, In } from 'typeorm';
import { Credit } from '../cashback/credit.entity.js';
import { Wallet } from '../cashback/wallet.entity.js';
import { startOfDay } from '../common/calendar-days.js';
import { Clock } from '../common/clock.js';
import { decodeCursor, encodeCursor } from '../common/cursor.js';
import { findDated, type IndexRange, loadFound, type Period, type Position } from '../database/dated-rows.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import type { CustomerCreditPageDto, ListCreditsDto } from './dto/credit.dto.js';
import { readNames } from './external-names.js';
import { scanPage } from './page-scan.js';
import { nameable, toCreditDto } from './wallet.mapper.js';

const LIST = 'credits';
const OPEN = [{ index: 'ix_cashback_credits_merchant', prefix: [['is_open = 1']] }] satisfies IndexRange[];

@Injectable()
export class CreditListingService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly merchants: MerchantsService,
    private readonly clock: Clock,
  ) {}

  /**
   * Returns a page of the open credits of the merchant's customers, earliest expiry first.
   *
   * @throws Problem validation_failed if the cursor is not one of this list.
   */
  async list(merchantId: string, filter: ListCreditsDto): Promise<CustomerCreditPageDto> {
    const { timeZone } = await this.merchants.policyOf(merchantId);
    const { store, limit, cursor } = filter;
    const start = cursor === undefined ? undefined : decodeCursor(LIST, cursor, ['number', 'string']);
    return this.unitOfWork.snapshot(async (manager) => {
      const period = expiriesOf(filter, timeZone, this.clock.now(merchantId));
      const { page, next } = await scanPage<Credit, Position>({
        limit,
        after: start,
        keyOf: ({ expiresAt, id }) => [expiresAt.getTime(), id],
        read: (after, count) => readCredits(manager, merchantId, period, after, count),
        select: (credits) => (store === undefined ? credits : credits.filter((credit) => credit.store === store)),
      });
      const names = await readNames(manager, merchantId, page.map(nameable));
      const wallets = await readDocuments(manager, merchantId, page);
      return {
        data: page.map((credit) => {
          const { walletId: wallet_id } = credit;
          return { ...toCreditDto(credit, names, timeZone), wallet_id, document: wallets.get(wallet_id)! };
        }),
        next_cursor: next === undefined ? null : encodeCursor(LIST, next),
      };
    });
  }
}

/** A credit expires after the day `expires_on`. */
function expiriesOf({ expires_from: from, expires_to: to }: ListCreditsDto, timeZone: string, now: Date): Period {
  const isAfter = (day: string): number => startOfDay(day, timeZone).getTime() + 1;
  return {
    from: Math.max(now.getTime() + 1, from === undefined ? -Infinity : isAfter(from)),
    to: to === undefined ? Infinity : isAfter(to),
  };
}

async function readCredits(
  manager: EntityManager,
  merchantId: string,
  period: Period,
  after: Position | undefined,
  limit: number,
): Promise<Credit[]> {
  const found = await findDated(manager, {
    ...{ table: 'cashback_credits', column: 'expires_at', order: 'ASC' },
    ...{ merchantId, ranges: OPEN, period, after, limit },
  });
  return loadFound(manager, Credit, merchantId, found);
}

async function readDocuments(
  manager: EntityManager,
  merchantId: string,
  credits: readonly Credit[],
): Promise<ReadonlyMap<string, string>> {
  const ids = credits.map(({ walletId }) => walletId);
  const wallets = await manager.find(Wallet, {
    select: { id: true, document: true },
    where: { merchantId, id: In(ids) },
  });
  return new Map(wallets.map(({ id, document }) => [id, document]));
}

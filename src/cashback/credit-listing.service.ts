import { Injectable } from '@nestjs/common';
import { type EntityManager, In } from 'typeorm';
import { MerchantsService } from '../merchants/merchants.service.js';
import {
  type DatedList,
  type DatedRow,
  decodeCursor,
  encodeCursor,
  findDated,
  loadFound,
  type Period,
  type Position,
  positionOf,
  scanPage,
} from '../platform/database/pages.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { Clock, startOfDay } from '../platform/values/time.js';
import { type CustomerCreditPageDto, type ListCreditsDto } from './credit.dto.js';
import { Credit } from './credit.entity.js';
import { readNames } from './external-names.js';
import { nameable, toCreditDto } from './wallet.dto.js';
import { Wallet } from './wallet.entity.js';

const LIST = 'credits';
const OPEN = {
  table: 'cashback_credits',
  column: 'expires_at',
  order: 'ASC',
  ranges: [{ index: 'ix_cashback_credits_merchant', prefix: [['is_open = 1']] }],
} satisfies Partial<DatedList>;

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
      const { page, next } = await scanPage<DatedRow, Position>({
        limit,
        after: start,
        keyOf: positionOf,
        read: (after, count) => findDated(manager, { ...OPEN, merchantId, period, after, limit: count }),
        select: (found) => (store === undefined ? found : selectOfStore(manager, merchantId, found, store)),
      });
      const credits = await loadFound(manager, Credit, merchantId, page);
      const names = await readNames(manager, merchantId, credits.map(nameable));
      const wallets = await readDocuments(manager, merchantId, credits);
      return {
        data: credits.map((credit) => {
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

async function selectOfStore(
  manager: EntityManager,
  merchantId: string,
  found: DatedRow[],
  store: string,
): Promise<DatedRow[]> {
  if (found.length === 0) return [];
  const rows = await manager.query<{ id: string }[]>(
    'SELECT id FROM cashback_credits WHERE merchant_id = ? AND id IN (?) AND store = ?',
    [merchantId, found.map(({ id }) => id), store],
  );
  const ids = new Set(rows.map(({ id }) => id));
  return found.filter(({ id }) => ids.has(id));
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

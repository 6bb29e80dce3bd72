import { Injectable } from '@nestjs/common';
import { EntityManager, In } from 'typeorm';
import { MerchantsService } from '../merchants/merchants.service.js';
import { Found, Lists, loadFound, Period } from '../platform/database/lists.js';
import { Clock, startOfDay } from '../platform/values/time.js';
import { CustomerCreditPageDto, ListCreditsDto } from './credit.dto.js';
import { Credit } from './credit.entity.js';
import { readNames } from './external-names.js';
import { nameable, toCreditDto } from './wallet.dto.js';
import { Wallet } from './wallet.entity.js';

@Injectable()
export class CreditListingService {
  constructor(
    private readonly lists: Lists,
    private readonly merchants: MerchantsService,
    private readonly clock: Clock,
  ) {}

  /**
   * Returns a page of the open credits of the merchant's customers, earliest expiry first.
   *
   * @throws Problem validation_failed if the cursor is not one of this list.
   */
  async list(merchantId: string, request: ListCreditsDto): Promise<CustomerCreditPageDto> {
    const { timeZone } = await this.merchants.policyOf(merchantId);
    const { store } = request;
    return this.lists.page(merchantId, request, () => ({
      name: 'credits',
      table: 'cashback_credits',
      instant: 'expires_at',
      order: 'ASC',
      timeZone,
      ranges: [{ index: 'ix_cashback_credits_merchant', prefix: [['is_open = 1']] }],
      period: expiriesOf(request, timeZone, this.clock.now(merchantId)),
      ...(store !== undefined && { select: (manager, found) => selectOfStore(manager, merchantId, found, store) }),
      present: async (manager, found) => {
        const credits = await loadFound(manager, Credit, merchantId, found);
        const names = await readNames(manager, merchantId, credits.map(nameable));
        const documents = await readDocuments(manager, merchantId, credits);
        return credits.map((credit) => {
          const { walletId: wallet_id } = credit;
          return { ...toCreditDto(credit, names, timeZone), wallet_id, document: documents.get(wallet_id)! };
        });
      },
    }));
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
  found: readonly Found[],
  store: string,
): Promise<Found[]> {
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

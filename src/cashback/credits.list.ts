import { type Found, list, type Period } from '../platform/database/lists.js';
import { type Asked, type ListOf } from '../platform/database/reads.js';
import { startOfDay } from '../platform/values/time.js';
import { type CustomerCreditDto, type ListCreditsDto } from './credit.dto.js';
import { Credit } from './credit.entity.js';
import { readNames } from './external-names.js';
import { nameable, toCreditDto } from './wallet.dto.js';
import { readDocuments } from './wallet.entity.js';

/** The open credits of the merchant's customers, earliest expiry first. */
export const CREDITS: ListOf<ListCreditsDto, CustomerCreditDto> = (asked) =>
  list({
    name: 'credits',
    entity: Credit,
    instant: 'expires_at',
    order: 'ASC',
    ranges: [{ index: 'ix_cashback_credits_merchant', prefix: [['is_open = 1']] }],
    period: expiriesOf(asked),
    ...(asked.query.store !== undefined && { select: (found) => selectOfStore(asked, found) }),
    present: async (credits) => {
      const names = await readNames(asked.manager, asked.merchantId, credits.map(nameable));
      const documents = await readDocuments(asked, credits);
      return credits.map((credit) => {
        const { walletId: wallet_id } = credit;
        return { ...toCreditDto(credit, names, asked.timeZone), wallet_id, document: documents.get(wallet_id)! };
      });
    },
  });

/** A credit expires after the day `expires_on`. */
function expiriesOf({ query: { expires_from: from, expires_to: to }, timeZone, now }: Asked<ListCreditsDto>): Period {
  const isAfter = (day: string): number => startOfDay(day, timeZone).getTime() + 1;
  return {
    from: Math.max(now.getTime() + 1, from === undefined ? -Infinity : isAfter(from)),
    to: to === undefined ? Infinity : isAfter(to),
  };
}

async function selectOfStore(
  { manager, merchantId, query: { store } }: Asked<ListCreditsDto>,
  found: readonly Found[],
): Promise<Found[]> {
  const rows = await manager.query<{ id: string }[]>(
    'SELECT id FROM cashback_credits WHERE merchant_id = ? AND id IN (?) AND store = ?',
    [merchantId, found.map(({ id }) => id), store],
  );
  const ids = new Set(rows.map(({ id }) => id));
  return found.filter(({ id }) => ids.has(id));
}

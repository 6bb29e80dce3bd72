import { list, type Period, selectBy } from '../platform/database/lists.js';
import { type Asked, type ListOf } from '../platform/database/reads.js';
import { startOfDay } from '../platform/values/time.js';
import { type CustomerCreditDto, type ListCreditsDto } from './credit.dto.js';
import { Credit } from './credit.entity.js';
import { readNames } from './external-names.js';
import { nameable, toCreditDto } from './wallet.dto.js';
import { withCustomers } from './wallet.entity.js';

/** The open credits of the merchant's customers, earliest expiry first. */
export const CREDITS: ListOf<ListCreditsDto, CustomerCreditDto> = (asked) =>
  list({
    name: 'credits',
    entity: Credit,
    instant: 'expires_at',
    order: 'ASC',
    ranges: [{ index: 'ix_cashback_credits_merchant', prefix: [['is_open = 1']] }],
    period: expiriesOf(asked),
    ...(asked.query.store !== undefined && {
      select: (found) => selectBy(asked, Credit, found, ['store = ?', asked.query.store]),
    }),
    present: async (credits) => {
      const names = await readNames(asked.manager, asked.merchantId, credits.map(nameable));
      const dtos = credits.map((credit) => toCreditDto(credit, names, asked.timeZone));
      return withCustomers(asked, credits, dtos);
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

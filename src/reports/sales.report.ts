import { REFUND_SUMS, REFUND_VOID_SUMS, SALES_SUMS } from '../orders/sums.js';
import { type Answer } from '../platform/database/reads.js';
import { byOf } from '../platform/http/by.dto.js';
import { groupBy } from '../platform/values/group-by.js';
import { formatMoney } from '../platform/values/money.js';
import { type SalesBy, type SalesReportDto, type SalesRowDto } from './report.dto.js';
import { addUp, type Days, MAX_DAYS_OF_SUMS, periodsOf, readSums, refuseDays, refuseMany } from './report.js';

/** What rows that are not periods are by, and how a row shows it. */
const KEYS = {
  store: { name: 'store', show: (store: string) => ({ store: store || null }) },
  user: { name: 'user_id', show: (user: string) => ({ by: byOf(user) }) },
  campaign: { name: 'campaign_id', show: (campaign: string) => ({ campaign_id: campaign || null }) },
} as const;

type Sums = Partial<Record<string, string | number>> & { day: string };

/** Reports what was sold and refunded, and the cashback of it. */
export const SALES: Answer<Days & { by?: SalesBy }, SalesReportDto> = async (asked) => {
  const { from, to, by } = asked.query;
  refuseDays(asked.query, MAX_DAYS_OF_SUMS);
  const key = by === undefined || by === 'day' || by === 'month' ? undefined : KEYS[by];
  const names = key === undefined ? [] : [key.name];
  const { rows: sales } = await readSums(asked, [SALES_SUMS], names);
  const { rows: refunds } = await readSums(asked, [REFUND_SUMS, REFUND_VOID_SUMS], names);
  // Their measures have the same names for different amounts.
  const refunded = refunds.map(({ amount_cents: refunded_cents, ...row }) => ({ ...row, refunded_cents }));
  const found: Sums[] = [...sales, ...refunded];
  const total = toDto({ from, to }, found);
  if (key !== undefined) {
    const groups = [...groupBy(found, (row) => String(row[key.name]))].sort(([one], [other]) => (one < other ? -1 : 1));
    refuseMany(groups, 'to');
    return { data: groups.map(([value, own]) => ({ ...key.show(value), ...toDto({ from, to }, own) })), total };
  }
  const inDays = (days: Days): Sums[] => found.filter(({ day }) => day >= days.from && day < days.to);
  return { data: periodsOf(asked.query).map((days) => toDto(days, inDays(days))), total };
};

const COUNTS = ['orders', 'late_orders', 'refunds'] as const;
const SOLD = ['total_cents', 'eligible_cents', 'earned_cents', 'redeemed_cents'] as const;
const REFUNDED = ['refunded_cents', 'taken_back_cents', 'returned_cents'] as const;

function toDto(days: Days, rows: readonly Sums[]): SalesRowDto {
  const sums = addUp(rows, [...COUNTS, ...SOLD, ...REFUNDED]);
  return {
    ...days,
    ...{ orders: sums.orders, late: sums.late_orders },
    total: formatMoney(sums.total_cents),
    eligible_total: formatMoney(sums.eligible_cents),
    paid: formatMoney(sums.total_cents - sums.redeemed_cents),
    earned: formatMoney(sums.earned_cents),
    redeemed: formatMoney(sums.redeemed_cents),
    refunds: sums.refunds,
    refunded: formatMoney(sums.refunded_cents),
    taken_back: formatMoney(sums.taken_back_cents),
    returned: formatMoney(sums.returned_cents),
  };
}

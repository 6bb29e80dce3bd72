import { GRANT_SUMS } from '../cashback/sums.js';
import { type Answer } from '../platform/database/reads.js';
import { byOf } from '../platform/http/by.dto.js';
import { groupBy } from '../platform/values/group-by.js';
import { formatMoney } from '../platform/values/money.js';
import { type GrantsReportDto } from './report.dto.js';
import { addUp, type Days, MAX_DAYS_OF_SUMS, readSums, refuseDays, refuseMany } from './report.js';

/** Reports who granted how much, and why, and what was voided of it. */
export const GRANTS_BY_USER: Answer<Days, GrantsReportDto> = async (asked) => {
  refuseDays(asked.query, MAX_DAYS_OF_SUMS);
  const { rows } = await readSums(asked, [GRANT_SUMS], ['user_id', 'reason']);
  // What is not summed yet has rows of its own.
  const groups = groupBy(rows, (row) => JSON.stringify([row.user_id, row.reason]));
  refuseMany([...groups], 'to');
  const found = Array.from(groups.values(), (group) => ({ ...group[0]!, ...addUp(group, GRANT_SUMS.measures) }));
  const isBefore = (one: (typeof found)[number], other: (typeof found)[number]): boolean =>
    one.user_id === other.user_id ? one.reason < other.reason : one.user_id < other.user_id;
  found.sort((one, other) => other.amount_cents - one.amount_cents || (isBefore(one, other) ? -1 : 1));
  const data = found.map((row) => ({ by: byOf(row.user_id), reason: row.reason || null, ...figuresOf(row) }));
  return { data, total: figuresOf(addUp(rows, GRANT_SUMS.measures)) };
};

const figuresOf = (row: Record<'grants' | 'amount_cents' | 'voided_cents', number>) => ({
  grants: row.grants,
  amount: formatMoney(row.amount_cents),
  voided: formatMoney(row.voided_cents),
});

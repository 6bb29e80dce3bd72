import { type Answer } from '../platform/database/reads.js';
import { byOf } from '../platform/http/by.dto.js';
import { beforeIdsOf } from '../platform/values/ids.js';
import { type GrantsReportDto } from './report.dto.js';
import { boundsOf, type Days, figures, MAX_ROWS, refuseMany } from './report.js';

/**
 * The grants of a part of time, which is that of their IDs, by user and reason. The total is the row without both, and
 * comes first: customers do not add up. A wallet is a customer, also an erased one.
 */
const SQL = `
  SELECT * FROM (
    SELECT g.created_by, COALESCE(c.reason, '') AS reason, COUNT(*) AS grants, COUNT(DISTINCT c.wallet_id) AS customers,
           SUM(c.amount_cents) AS amount, SUM(COALESCE(g.voided_cents, 0)) AS voided
      FROM cashback_grants g FORCE INDEX (ix_cashback_grants_merchant)
      JOIN cashback_credits c ON c.id = g.credit_id AND c.merchant_id = g.merchant_id
     WHERE g.merchant_id = ? AND g.credit_id >= ? AND g.credit_id < ?
     GROUP BY g.created_by, COALESCE(c.reason, '') WITH ROLLUP) x
   WHERE created_by IS NULL OR reason IS NOT NULL
   ORDER BY created_by IS NULL DESC, amount DESC, created_by, reason LIMIT ${MAX_ROWS + 2}`;

const FIGURES = [
  ['grants', 'customers'],
  ['amount', 'voided'],
] as const;

const NO_GRANTS = { created_by: null, reason: null, grants: '0', customers: '0', amount: '0', voided: '0' };

type GrantsRow = Record<'grants' | 'customers' | 'amount' | 'voided', string> &
  Record<'created_by' | 'reason', string | null>;

/** Reports who granted how much, and why. */
export const GRANTS_BY_USER: Answer<Days, GrantsReportDto> = async (asked) => {
  const parameters = [asked.merchantId, ...boundsOf(asked).map(beforeIdsOf)];
  const [total = NO_GRANTS, ...rows] = await asked.manager.query<GrantsRow[]>(SQL, parameters);
  refuseMany(rows, 'to');
  const data = rows.map((row) => ({
    by: byOf(row.created_by!),
    reason: row.reason || null,
    ...figures(row, ...FIGURES),
  }));
  return { data, total: figures(total, ...FIGURES) };
};

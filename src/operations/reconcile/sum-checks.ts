import { type EntityManager } from 'typeorm';
import { LedgerPosition, Merchant } from '../../merchants/merchant.entity.js';
import { nowOf } from '../../platform/database/by-merchant.js';
import { readInstant } from '../../platform/database/rows.js';
import { type UnitOfWork } from '../../platform/database/unit-of-work.js';
import { OPERATOR } from '../../platform/values/caller.js';
import { beforeIdsOf } from '../../platform/values/ids.js';
import { addDays, dayOf, startOfDay } from '../../platform/values/time.js';
import { entryAfter, SUMS_OF_ENTRIES } from '../../reports/ledger-sums.js';
import { CLOCK_MARGIN, type Finding, inPage, type SqlChecks } from './page.js';

/** Checks of how far the ledger has been summed, by merchant. */
export const POSITION_CHECKS: SqlChecks = {
  'the ledger of each merchant is summed up to an instant that is past, and the next day when it is over': `
    SELECT m.id AS merchant_id, p.summed_until, p.due_at
      FROM merchants m LEFT JOIN ledger_positions p ON p.merchant_id = m.id
     WHERE ${inPage('m.id')} AND NOT COALESCE(p.summed_until <= ${nowOf('m.id')} + ${CLOCK_MARGIN}
                                              AND p.due_at <= ${nowOf('m.id')} + INTERVAL 26 HOUR, FALSE)`,
};

const LAST_GRANT = `
  SELECT c.created_at AS at FROM cashback_credits c WHERE c.id = (
    SELECT MAX(credit_id) FROM cashback_grants FORCE INDEX (ix_cashback_grants_user)
     WHERE merchant_id = ? AND created_by <> '${OPERATOR}') AND c.merchant_id = ?`;

/** What each user, and all of a merchant, granted since the beginning of a day, where the total of the day is lower. */
const LOW_TOTALS = `
  SELECT g.subject_id, g.cents, t.day, t.granted_cents
    FROM (SELECT COALESCE(g.created_by, '') AS subject_id, SUM(c.amount_cents) AS cents
            FROM cashback_grants g FORCE INDEX (ix_cashback_grants_merchant)
            JOIN cashback_credits c ON c.id = g.credit_id AND c.merchant_id = g.merchant_id
           WHERE g.merchant_id = ? AND g.credit_id >= ? AND g.created_by <> '${OPERATOR}'
           GROUP BY g.created_by WITH ROLLUP) g
    LEFT JOIN grant_totals t ON t.merchant_id = ? AND t.subject_id = IF(g.subject_id = '', ?, g.subject_id)
   WHERE NOT COALESCE(t.day > ? OR (t.day = ? AND t.granted_cents >= g.cents), FALSE) LIMIT 100`;

/** Checks that all grants of the last day on which users granted count for the maximum of a day. */
async function lowTotals(manager: EntityManager, merchantId: string, timeZone: string): Promise<Finding[]> {
  const last = await readInstant(manager, LAST_GRANT, [merchantId, merchantId]);
  if (last === undefined) return [];
  const day = dayOf(last, timeZone);
  const since = beforeIdsOf(startOfDay(day, timeZone));
  const low = await manager.query<object[]>(LOW_TOTALS, [merchantId, since, merchantId, merchantId, day, day]);
  const invariant = 'the total of a day has all grants of its users';
  return low.map((figures) => ({ invariant, merchant_id: merchantId, ...figures }));
}

const WRONG_SUMS = `
  SELECT store, credit_store, kind, SUM(entries) AS entries, SUM(cents) AS cents, SUM(ledger_entries) AS ledger_entries, SUM(ledger_cents) AS ledger_cents
    FROM (SELECT store, credit_store, kind, entries, amount_cents AS cents, 0 AS ledger_entries, 0 AS ledger_cents
            FROM ledger_days WHERE merchant_id = ? AND day = ?
           UNION ALL
          SELECT in_store, owner, kind, 0, 0, entries, cents FROM (${SUMS_OF_ENTRIES}) ledger) both_sums
   GROUP BY store, credit_store, kind
  HAVING SUM(entries) <> SUM(ledger_entries) OR SUM(cents) <> SUM(ledger_cents)
   LIMIT 100`;

/** Compares the sums of all merchants with the ledger and the grants, each day on one snapshot. */
export async function* wrongSums(unitOfWork: UnitOfWork): AsyncGenerator<Finding[]> {
  const merchants = await unitOfWork.statement((manager) => manager.find(Merchant, { order: { id: 'ASC' } }));
  for (const { id, policy } of merchants) {
    yield await unitOfWork.snapshot((manager) => lowTotals(manager, id, policy.timeZone));
    for (let last: string | undefined; ;) {
      const checked = await unitOfWork.snapshot((manager) => checkNextDay(manager, id, policy.timeZone, last));
      if (checked === undefined) break;
      yield checked.findings;
      last = checked.day;
    }
  }
}

/** Checks the first day after another one that has entries that are summed, or sums. */
async function checkNextDay(
  manager: EntityManager,
  merchantId: string,
  timeZone: string,
  last?: string,
): Promise<{ day: string; findings: Finding[] } | undefined> {
  const position = await manager.findOneBy(LedgerPosition, { merchantId });
  if (position === null) return undefined;
  const { summedUntil } = position;
  const from = last === undefined ? new Date(0) : startOfDay(addDays(last, 1), timeZone);
  const entry = await entryAfter(manager, merchantId, from);
  const [sum] = await manager.query<{ day: string | null }[]>(
    'SELECT MIN(day) AS day FROM ledger_days WHERE merchant_id = ? AND day > ?',
    [merchantId, last ?? ''],
  );
  const days = [sum?.day ?? undefined, entry && entry < summedUntil ? dayOf(entry, timeZone) : undefined];
  const [day] = days.filter((found) => found !== undefined).sort();
  if (day === undefined) return undefined;
  const [start, end] = [startOfDay(day, timeZone), startOfDay(addDays(day, 1), timeZone)];
  const to = end < summedUntil ? end : summedUntil;
  const wrong = await manager.query<object[]>(WRONG_SUMS, [merchantId, day, day, merchantId, start, to]);
  const invariant = 'the sums of a day are those of its ledger entries';
  return { day, findings: wrong.map((figures) => ({ invariant, merchant_id: merchantId, day, ...figures })) };
}

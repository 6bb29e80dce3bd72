import type { EntityManager } from 'typeorm';
import { addDays, dayOf, startOfDay } from '../common/calendar-days.js';
import { nowOf } from '../database/by-merchant.js';
import { type UnitOfWork } from '../database/unit-of-work.js';
import { LedgerPosition } from '../merchants/ledger-position.entity.js';
import { Merchant } from '../merchants/merchant.entity.js';
import { entryAfter, SUMS_OF_ENTRIES } from '../reports/ledger-sums.js';
import { CLOCK_MARGIN, type Finding, inPage, type SqlChecks } from './page.js';

/** Checks of how far the ledger has been summed, by merchant. */
export const POSITION_CHECKS: SqlChecks = {
  'the ledger of each merchant is summed up to an instant that is past': `
    SELECT m.id AS merchant_id, p.summed_until
      FROM merchants m LEFT JOIN ledger_positions p ON p.merchant_id = m.id
     WHERE ${inPage('m.id')} AND NOT COALESCE(p.summed_until <= ${nowOf('m.id')} + ${CLOCK_MARGIN}, FALSE)`,
};

const WRONG_SUMS = `
  SELECT store, credit_store, kind, SUM(entries) AS entries, SUM(cents) AS cents, SUM(ledger_entries) AS ledger_entries, SUM(ledger_cents) AS ledger_cents
    FROM (SELECT store, credit_store, kind, entries, amount_cents AS cents, 0 AS ledger_entries, 0 AS ledger_cents
            FROM ledger_days WHERE merchant_id = ? AND day = ?
           UNION ALL
          SELECT in_store, owner, kind, 0, 0, entries, cents FROM (${SUMS_OF_ENTRIES}) ledger) both_sums
   GROUP BY store, credit_store, kind
  HAVING SUM(entries) <> SUM(ledger_entries) OR SUM(cents) <> SUM(ledger_cents)
   LIMIT 100`;

/** Compares the sums of each day of all merchants with the ledger, each day on one snapshot. */
export async function* wrongSums(unitOfWork: UnitOfWork): AsyncGenerator<Finding[]> {
  const merchants = await unitOfWork.statement((manager) => manager.find(Merchant, { order: { id: 'ASC' } }));
  for (const { id, policy } of merchants) {
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

import type { EntityManager } from 'typeorm';
import type { EntryKind } from '../cashback/entry.entity.js';
import { readInstant } from '../platform/database/rows.js';
import { addDays, dayOf, startOfDay } from '../platform/values/time.js';

/** @param owner the store that owes the credit, or a constant: then the credits are not read. */
const sumsBy = (owner: string, credits = ''): string => `
  SELECT e.merchant_id, ? AS day, COALESCE(e.store, '') AS in_store, ${owner} AS owner, e.kind,
         COUNT(*) AS entries, SUM(e.amount_cents) AS cents
    FROM cashback_entries e FORCE INDEX (ix_cashback_entries_created) ${credits}
   WHERE e.merchant_id = ? AND e.created_at >= ? AND e.created_at < ?
   GROUP BY 3, 4, 5`;

/** Adds up the entries of a part of a day. The parameters are the day, the merchant, and the part's start and end. */
export const SUMS_OF_ENTRIES = sumsBy(
  "COALESCE(c.store, '')",
  'LEFT JOIN cashback_credits c ON c.id = e.credit_id AND c.merchant_id = e.merchant_id',
);
const SUMS_WITHOUT_OWNER = sumsBy("''");

/** The sum of the entries of a kind in a day, or in a period that begins on that day. */
export interface SumRow {
  day: string;
  /** Where it happened; empty if that is not known. */
  in_store: string;
  /** The store that owes the credit; empty if that is not known, and for the debt. */
  owner: string;
  kind: EntryKind;
  cents: string | number;
}

/** Returns the instant of a merchant's first entry from an instant on, or of a following one. */
export function entryAfter(
  manager: EntityManager,
  merchantId: string,
  from: Date,
  skipped = 0,
): Promise<Date | undefined> {
  const sql = `
    SELECT created_at AS at FROM cashback_entries FORCE INDEX (ix_cashback_entries_created)
     WHERE merchant_id = ? AND created_at >= ? ORDER BY created_at LIMIT 1 OFFSET ?`;
  return readInstant(manager, sql, [merchantId, from, skipped]);
}

/** Adds up the entries from an instant to another one, which begins a day: each local day that has any. */
export async function sumsOfEntries(
  manager: EntityManager,
  { id, timeZone }: { id: string; timeZone: string },
  { from, to, isByStore }: { from: Date; to: Date; isByStore: boolean },
): Promise<SumRow[]> {
  const sql = isByStore ? SUMS_OF_ENTRIES : SUMS_WITHOUT_OWNER;
  const sums: SumRow[] = [];
  for (let start = from; ;) {
    const next = await entryAfter(manager, id, start);
    if (next === undefined || next >= to) return sums;
    const day = dayOf(next, timeZone);
    const end = startOfDay(addDays(day, 1), timeZone);
    sums.push(...(await manager.query<SumRow[]>(sql, [day, id, start, end])));
    start = end;
  }
}

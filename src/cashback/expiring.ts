import type { EntityManager } from 'typeorm';
import { dayOf, firstOfNextMonth } from '../common/calendar-days.js';
import { amountsOf, exactCents } from '../common/money.js';
import { queryNamed } from '../database/named-query.js';
import { ofUnspent } from './unspent.js';
import type { Wallet } from './wallet.entity.js';

const SUMS = 'c.expires_at AS at, SUM(c.remaining_cents) AS expiring, SUM(c.held_cents) AS held';

interface Sums {
  at: Date;
  expiring: string;
  held: string;
}

/**
 * Returns what expires in the current month and the following ones in a time zone, of a merchant's credits or of those
 * of one wallet. An amount counts in the month in which the ledger will have its expiry: what has expired and is still
 * held or not yet written counts in the current month.
 */
export async function expiringByMonth(
  manager: EntityManager,
  of: Pick<Wallet, 'merchantId'> & Partial<Wallet>,
  { now, timeZone, months: count }: { now: Date; timeZone: string; months: number },
): Promise<{ month: string; expiring: string; held: string }[]> {
  const months: string[] = [];
  for (let day = dayOf(now, timeZone); months.length < count; day = firstOfNextMonth(day)) months.push(day.slice(0, 7));
  const cents = months.map(() => ({ expiring: 0, held: 0 }));
  for (const row of await queryNamed<Sums>(manager, ofUnspent(SUMS, of.id !== undefined), of)) {
    const month = dayOf(row.at, timeZone).slice(0, 7);
    const sums = cents[month < months[0]! ? 0 : months.indexOf(month)];
    if (sums === undefined) continue;
    sums.expiring = exactCents(sums.expiring + exactCents(row.expiring));
    sums.held = exactCents(sums.held + exactCents(row.held));
  }
  return months.map((month, at) => ({ month, ...amountsOf(cents[at]!) }));
}

/* eslint jest/no-standalone-expect: off -- It is called inside tests alone. */
import { expect } from '@jest/globals';
import { AdminCommandLine } from '../admin.js';
import { grant } from '../factories.js';
import { rowsOf } from '../wallets.js';
import type { FrozenClock } from '../clock.js';
import { localDate } from '../days.js';
import type { Shop } from './shops.js';

const MEMBERS = ['earned', 'granted', 'restored', 'redeemed', 'taken_back', 'voided', 'expired'] as const;

/** Centavos of an amount, in bigint because the sums of all sequences are large. */
const cents = (amount: string): bigint => BigInt(amount.replace('.', ''));

/**
 * Checks the monthly reports of shops whose zones are known: each month closes, it begins with what the month before
 * ended with, and the last one ends with what the wallets have over HTTP.
 *
 * @param since an instant before the first entry.
 */
export async function expectMonthsToClose(
  clock: FrozenClock,
  shops: readonly { shop: Shop; zone: string }[],
  since: number,
): Promise<void> {
  const { service } = shops[0]!.shop;
  const admin = new AdminCommandLine(service);
  const last = new Map<string, bigint>();
  const owned = new Map<string, bigint>();
  for (const { shop } of shops) owned.set(shop.merchant.id, await ownedBy(shop));
  const zones = shops.map(({ zone }) => zone);
  for (const month of monthsBetween(since, clock.ms, zones)) {
    for (const row of await admin.list('report', 'ledger', '--month', month)) {
      const [earned, granted, restored, ...taken] = MEMBERS.map((member) => cents(row[member]));
      const net = taken.reduce((left, amount) => left - amount, earned! + granted! + restored!);
      expect({ month, closing: cents(row.closing) }).toEqual({ month, closing: cents(row.opening) + net });
      expect({ month, opening: cents(row.opening) }).toEqual({ month, opening: last.get(row.merchant_id) ?? 0n });
      last.set(row.merchant_id, cents(row.closing));
    }
  }
  expect(last).toEqual(owned);
}

/** Returns what a shop's customers own over HTTP, less their debts, once every wallet has written what has expired. */
async function ownedBy(shop: Shop): Promise<bigint> {
  const rows = await rowsOf(shop.service, 'SELECT document FROM wallets WHERE merchant_id = ?', [shop.merchant.id]);
  let sum = 0n;
  for (const { document } of rows) {
    await grant(shop.service, shop.merchant, document, '0.01');
    const { body } = await shop.send('POST', '/wallets/search', { document });
    sum += cents(body.available) + cents(body.pending) + cents(body.held) - cents(body.debt);
  }
  return sum;
}

/** Returns the months in which an instant of this time lies in one of the zones. */
function monthsBetween(from: number, to: number, zones: readonly string[]): string[] {
  const ends = [from, to].map((instant) => zones.map((zone) => localDate(instant, zone).slice(0, 7)).sort());
  const [first, end] = [ends[0]![0]!, ends[1]!.at(-1)!];
  const months: string[] = [];
  for (let at = Date.parse(`${first}-01`); ;) {
    const month = new Date(at).toISOString().slice(0, 7);
    if (month > end) return months;
    months.push(month);
    at = Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 1);
  }
}

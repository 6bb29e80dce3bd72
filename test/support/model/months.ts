/* eslint jest/no-standalone-expect: off -- It is called inside tests alone. */
import { expect } from '@jest/globals';
import { AdminCommandLine } from '../admin.js';
import type { Service } from '../service.js';
import type { Wallet } from '../shop.js';
import { rowsOf } from '../wallets.js';
import type { ModelMerchant } from './property.js';
import { brl, cents, DAY, localDate } from './values.js';

const ADDED = ['earned', 'granted', 'returned'] as const;
const TAKEN = ['redeemed', 'taken_back', 'voided', 'debited', 'expired'] as const;

/**
 * Expects that each month of `reports ledger` adds up, and begins with what the month before ended with, and that the
 * last one ends with what the wallets have over HTTP.
 */
export async function expectMonthsToClose(
  service: Service,
  merchants: readonly ModelMerchant[],
  from: number,
  to: number,
): Promise<void> {
  await service.clock.sweep();
  const admin = new AdminCommandLine(service);
  for (const merchant of merchants) {
    let last = 0n;
    const months = monthsBetween(from, to, merchant.rules.timeZone);
    for (const [at, month] of months.slice(0, -1).entries()) {
      const options = ['--from', `${month}-01`, '--to', `${months[at + 1]}-01`, '--merchant', merchant.id];
      const [row] = (await admin.list('reports', 'ledger', ...options)) as [Record<string, string>];
      const sum = (members: readonly string[]): bigint => members.reduce((all, name) => all + cents(row[name]!), 0n);
      const closing = cents(row.opening!) + sum(ADDED) - sum(TAKEN);
      expect({ month, opening: row.opening, closing: row.closing }).toEqual({
        ...{ month, opening: brl(last), closing: brl(closing) },
      });
      last = closing;
    }
    expect(brl(last)).toBe(brl(await ownedBy(service, merchant)));
  }
}

/** Returns what a merchant's customers have over HTTP, less their debts. */
async function ownedBy(service: Service, { id, users }: ModelMerchant): Promise<bigint> {
  const rows = await rowsOf(service, 'SELECT document FROM wallets WHERE merchant_id = ?', [id]);
  let owned = 0n;
  for (const { document } of rows) {
    const { body } = await (await users[0]!.client()).post<Wallet>('/wallets/search', { document });
    owned += cents(body.available) + cents(body.pending) + cents(body.held) - cents(body.debt);
  }
  return owned;
}

/** The months of a period, and the one after it. */
function monthsBetween(from: number, to: number, timeZone: string): string[] {
  const [first, end] = [from, to + 31 * DAY].map((at) => localDate(at, timeZone).slice(0, 7)) as [string, string];
  const months: string[] = [];
  for (let month = first; month <= end;) {
    months.push(month);
    month = new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 1)).toISOString().slice(0, 7);
  }
  return months;
}

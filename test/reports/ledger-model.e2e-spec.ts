import { randomInt } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { addDays } from '../../src/platform/values/time.js';
import { localDate } from '../support/days.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import type { Entry, Order } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service } = useService();

const ZONES = ['America/Sao_Paulo', 'Europe/Lisbon', 'Pacific/Kiritimati', 'America/New_York'];
const STORES = ['A', 'B', '=1+1', undefined];
const oneOf = <T>(values: readonly T[]): T => values[randomInt(values.length)]!;
const cents = (amount: unknown): number => Math.round(Number(amount) * 100);

/** How a line of a statement changes a member of the report. */
const MEMBERS: Record<string, [string, 1 | -1]> = {
  earn: ['earned', 1],
  grant: ['granted', 1],
  redeem: ['redeemed', -1],
  return: ['returned', 1],
  take_back: ['taken_back', -1],
  debt: ['taken_back', 1],
  repay: ['taken_back', 1],
  void: ['voided', -1],
  expire: ['expired', -1],
};
const SUMS = ['earned', 'granted', 'redeemed', 'returned', 'taken_back', 'voided', 'expired'];

type Line = Entry & { owner: string | null };

/** What a report must say of some lines, of which some were before. */
function figuresOf(before: Line[], lines: Line[]): Record<string, number> {
  const owned = (some: Line[]): number =>
    some.reduce((sum, { credit_id: credit, amount }) => sum + (credit === null ? -cents(amount) : cents(amount)), 0);
  const figures: Record<string, number> = Object.fromEntries(SUMS.map((name) => [name, 0]));
  for (const { kind, amount } of lines) {
    const [member, sign] = MEMBERS[kind]!;
    figures[member]! += sign * cents(amount);
  }
  return { opening: owned(before), ...figures, closing: owned([...before, ...lines]) };
}

describe('GET /reports/ledger after random operations', () => {
  it.each(ZONES)(
    'GET /reports/ledger in %s is the sum over the statements, whatever part of it is summed already',
    async (zone) => {
      const merchant = await aLongLivedMerchant(service, {
        ...{ timeZone: zone, releaseDays: randomInt(3), validityDays: randomInt(2, 6), redeemShareBps: 10_000 },
      });
      const documents = Array.from({ length: 4 }, aDocument);
      const first = localDate(service.clock.now().getTime(), zone);
      const orders: Order[] = [];
      const grants: { id: string }[] = [];
      for (let step = 0; step < 60; step++) {
        await act(merchant, oneOf(documents), orders, grants);
        if (step % 20 === 19) await expectReports(merchant, documents, zone, first);
      }
      await expectInvariants(service);
    },
  );

  async function act(
    merchant: TestMerchant,
    document: string,
    orders: Order[],
    grants: { id: string }[],
  ): Promise<void> {
    const store = oneOf(STORES);
    const dice = randomInt(12);
    if (dice < 2) grants.push(await merchant.grant({ document, amount: `${randomInt(1, 20)}.37`, store }));
    else if (dice < 3 && grants.length > 0) await merchant.voidGrant(oneOf(grants));
    else if (dice < 7) {
      const { available } = await merchant.wallet(document);
      const total = randomInt(20, 200);
      const redeem = randomInt(2) === 0 ? '0.00' : String(Math.min(Number(available), total));
      orders.push(await merchant.completed({ document, total: `${total}.00`, store }, { redeem }));
    } else if (dice < 9 && orders.length > 0) {
      const order = orders.splice(randomInt(orders.length), 1)[0]!;
      await merchant.refund(order, oneOf(['5.00', order.total]), { store });
    } else if (dice < 11) await service.clock.advance({ hours: randomInt(1, 40) });
    // The sweeps write off what has expired, but do not sum it.
    else service.clock.skip(randomInt(1, 30) * 3_600_000);
  }

  async function expectReports(
    merchant: TestMerchant,
    documents: string[],
    zone: string,
    first: string,
  ): Promise<void> {
    const to = addDays(localDate(service.clock.now().getTime(), zone), 1);
    const from = addDays(first, randomInt(0, 3));
    const report = async (by: string): Promise<Record<string, string>[]> =>
      (await merchant.get<{ data: Record<string, string>[] }>(`/reports/ledger?from=${from}&to=${to}${by}`)).data;
    if (from >= to) return;
    const lines = await linesOf(merchant, documents);
    const dayOfLine = ({ created_at: at }: Line): string => localDate(Date.parse(at), zone);
    const expectRow = (row: Record<string, string>, before: Line[], during: Line[]): void => {
      const expected = figuresOf(before, during);
      const actual = Object.fromEntries(Object.keys(expected).map((name) => [name, cents(row[name])]));
      expect(actual).toEqual(expected);
    };
    const before = lines.filter((line) => dayOfLine(line) < from);
    const [whole] = await report('');
    expectRow(
      whole!,
      before,
      lines.filter((line) => dayOfLine(line) >= from),
    );
    for (const row of await report('&by=day'))
      expectRow(
        row,
        lines.filter((line) => dayOfLine(line) < row.from!),
        lines.filter((line) => dayOfLine(line) === row.from!),
      );
    for (const by of ['store', 'store_pair']) {
      const rows = await report(`&by=${by}`);
      const isIn = (row: Record<string, string | null>, line: Line): boolean =>
        row.store === line.owner && (by === 'store' || row.in_store === line.store);
      for (const row of rows)
        expectRow(
          row,
          before.filter((line) => isIn(row, line)),
          lines.filter((line) => dayOfLine(line) >= from && isIn(row, line)),
        );
      expect(rows.reduce((sum, { closing }) => sum + cents(closing), 0)).toBe(cents(whole!.closing));
      expect(rows.reduce((sum, { redeemed }) => sum + cents(redeemed), 0)).toBe(cents(whole!.redeemed));
    }
  }

  async function linesOf(merchant: TestMerchant, documents: string[]): Promise<Line[]> {
    const sql = 'SELECT id, store FROM cashback_credits WHERE merchant_id = ?';
    const credits = await rowsOf<{ id: string; store: string | null }>(service, sql, [merchant.id]);
    const owners = new Map(credits.map(({ id, store }) => [id, store]));
    const wallets = await Promise.all(documents.map((document) => merchant.wallet(document)));
    const known = documents.filter((_, at) => wallets[at]!.id !== null);
    const lines = await Promise.all(known.map((document) => merchant.statement(document)));
    return lines.flat().map((line) => ({ ...line, owner: owners.get(line.credit_id ?? '') ?? null }));
  }
});

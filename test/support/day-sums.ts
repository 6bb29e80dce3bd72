/* eslint jest/no-standalone-expect: off -- It is called inside tests alone. */
import { expect } from '@jest/globals';
import { ALL_SUMS } from '../../src/reports/sums.js';
import { aDocument, type TestMerchant } from './factories.js';
import type { Service } from './service.js';
import { rowsOf } from './wallets.js';

export type SumsName = keyof typeof ALL_SUMS;
export const SUMS = Object.keys(ALL_SUMS) as SumsName[];
/** The tables: those of refunds have one together. */
export const SUM_TABLES = [...new Set(Object.values(ALL_SUMS).map(({ table }) => table))];

export const tableOf = (name: SumsName): string => ALL_SUMS[name].table;

type Row = Record<string, string | number>;
/** What is summed of a merchant, by table. */
export type Summed = Record<string, Row[]>;

/**
 * Makes something for each of the sums at one instant: three grants of which one is voided, a sale that redeems two of
 * them, and two refunds of it, of which one is undone.
 */
export async function makeOfEachSum(merchant: TestMerchant): Promise<void> {
  const document = aDocument();
  for (const amount of ['1.00', '2.00']) await merchant.grant({ document, amount, store: 'A', reason: undefined });
  const grant = await merchant.grant({ document: aDocument(), amount: '4.00', store: 'A', reason: 'Late' });
  await merchant.voidGrant(grant);
  const order = await merchant.completed({ document, total: '100.00', store: 'B' }, { redeem: '3.00' });
  await merchant.refund(order, '10.00', { external_id: 'DEV-1', store: 'A' });
  const refund = await merchant.refund(order, '20.00', { external_id: 'DEV-2' });
  await merchant.send('POST', `/orders/${order.id}/refunds/${refund.id}/void`, { body: {} }, 200);
}

/** The sums of what {@link makeOfEachSum} makes on each of some days. The order earns 5 % of 97.00. */
export function sumsOfEach({ userId: user_id }: TestMerchant, ...days: string[]): Summed {
  const of = { user_id, campaign_id: '' };
  const ledger = [
    ['', 'A', 'void', 1, -400],
    ['A', 'A', 'grant', 3, 700],
    ['A', 'A', 'return', 1, 30],
    ['A', 'B', 'take_back', 1, -49],
    ['B', 'A', 'redeem', 2, -300],
    ['B', 'A', 'return', 2, 0],
    ['B', 'B', 'earn', 1, 485],
    ['B', 'B', 'take_back', 2, 0],
  ].map(([store, credit_store, kind, entries, amount_cents]) => ({ store, credit_store, kind, entries, amount_cents }));
  const late = { reason: 'Late', grants: 1, amount_cents: 400, voided_cents: 400 };
  const sale = { orders: 1, late_orders: 0, total_cents: 10_000, eligible_cents: 10_000 };
  const refund = { refunds: 1, amount_cents: 1000, returned_cents: 30, taken_back_cents: 49 };
  const undone = { refunds: 0, amount_cents: 0, returned_cents: 0, taken_back_cents: 0 };
  const rows = (ofDay: object[]): Row[] => days.flatMap((day) => ofDay.map((row) => ({ day, ...row })));
  return {
    ledger_days: rows(ledger),
    grant_days: rows([
      { user_id, reason: '', grants: 2, amount_cents: 300, voided_cents: 0 },
      { user_id, ...late },
    ]),
    sales_days: rows([{ store: 'B', ...of, ...sale, earned_cents: 485, redeemed_cents: 300 }]),
    refund_days: rows([
      { store: 'A', ...of, ...refund },
      { store: 'B', ...of, ...undone },
    ]),
  };
}

export const NO_SUMS: Summed = Object.fromEntries(SUM_TABLES.map((table) => [table, []]));

/** What is summed of a merchant. @param days those that are asked for, by default all */
export async function readSums(service: Service, { id }: TestMerchant, ...days: string[]): Promise<Summed> {
  const found: Summed = {};
  for (const table of SUM_TABLES) {
    const { dimensions, measures } = Object.values(ALL_SUMS).find((sums) => sums.table === table)!;
    const sql = `SELECT ${['day', ...dimensions, ...measures].join(', ')} FROM ${table} WHERE merchant_id = ? ORDER BY day, ${dimensions.join(', ')}`;
    const rows: Row[] = await rowsOf(service, sql, [id]);
    const isAsked = ({ day }: Row): boolean => days.length === 0 || days.includes(String(day));
    const numbersOf = (row: Row): Row => Object.fromEntries(measures.map((name) => [name, Number(row[name])]));
    found[table] = rows.filter(isAsked).map((row) => ({ ...row, ...numbersOf(row) }));
  }
  return found;
}

/** Until when each of the sums of a merchant counts everything. */
export async function sumPositions(service: Service, { id }: TestMerchant): Promise<Record<SumsName, Date>> {
  const sql = 'SELECT sums, summed_until AS at FROM sum_positions WHERE merchant_id = ?';
  const rows = await rowsOf<{ sums: string; at: Date }>(service, sql, [id]);
  expect(rows.map(({ sums }) => sums).sort()).toEqual([...SUMS].sort());
  return Object.fromEntries(rows.map(({ sums, at }) => [sums, at])) as Record<SumsName, Date>;
}

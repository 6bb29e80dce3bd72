import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import iconv from 'iconv-lite';
import { hasValidCheckDigits, withoutPunctuation } from '../../src/platform/values/document.js';
import * as calendar from '../../src/platform/values/time.js';
import { FORMER_TILL, HEAD_OF_SUPPORT, STORES, SUPPORT } from '../../tools/demo-data.mjs';
import { DOCUMENT } from '../../tools/demo.mjs';
import { CASES, CUSTOMERS, DemoYear, type Kinds, LAST, ZONE } from '../../tools/demo-plan.mjs';

const { addDays, dayOf, startOfDay } = calendar;
const { CASHIER, DEBTOR, FROZEN, HOLDER, LATE, MISTYPED, RIGHT, TWICE, UNDONE } = CASES;
const HOUR_MS = 3_600_000;

/** A leap day, each weekday, the end of each month and of two years; each at one of these hours of the local day. */
const HOURS = [12, 0.01, 21.5, 4, 23.99];
const DAYS = Array.from({ length: 400 }, (_, at) => [addDays('2027-12-01', at), HOURS[at % 5]!] as const);

const yearOf = (day: string, hour: number): DemoYear =>
  new DemoYear(startOfDay(day, ZONE).getTime() + hour * HOUR_MS, calendar);

const daysFrom = (today: string, day: string): number => (Date.parse(day) - Date.parse(today)) / 86_400_000;

/** The steps before today, with the number of days from today instead of dates. */
function past({ steps }: DemoYear, today: string): string {
  const midnight = startOfDay(today, ZONE).getTime();
  const before = steps.filter(({ at }) => at < midnight);
  return JSON.stringify(
    before.map(({ at, ...step }) => [at - midnight, step]),
    (name, value: unknown) =>
      /^(fromDay|throughDay|expiresOn)$/.test(name) ? daysFrom(today, value as string) : value,
  );
}

/** What happens of a kind, with its local day as the number of days from today. */
function all<K extends keyof Kinds>(
  year: DemoYear,
  kind: K,
  today: string,
): { day: number; at: number; what: Kinds[K] }[] {
  return year.steps
    .filter((step) => step.kind === kind)
    .map(({ at, what }) => ({ day: daysFrom(today, dayOf(new Date(at), ZONE)), at, what: what as Kinds[K] }));
}

describe('the plan of the demo', () => {
  const [today, hour] = ['2026-11-28', 10];
  const year = yearOf(today, hour);
  const sales = all(year, 'sell', today);
  const of = (document: string) => sales.filter(({ what }) => what.document === document);

  it('is the same year on each of 400 days, and what is of today is over', () => {
    const expected = past(year, today);
    const different = DAYS.filter(([day, at]) => {
      const other = yearOf(day, at);
      return past(other, day) !== expected || other.steps.some((step) => step.at > other.end);
    });
    expect(different).toEqual([]);
  });

  it('has a sale with cashback in each whole month, on each of 400 days', () => {
    for (const [day] of DAYS) {
      const kept = sales.filter(({ what: { outcome = 'completed' } }) => outcome === 'completed');
      const refunded = all(year, 'refund', today).map(({ what }) => what.sale);
      const earning = kept
        .filter(({ what }) => !refunded.includes(what))
        .map((sale) => addDays(day, sale.day).slice(0, 7));
      const months = new Set(Array.from({ length: 365 }, (_, ago) => addDays(day, -ago).slice(0, 7)));
      expect([...months].slice(1, -1).filter((month) => !earning.includes(month))).toEqual([]);
      expect(months.size).toBeGreaterThanOrEqual(12);
    }
  });

  it('has a debt: what was earned has been spent when the order comes back', () => {
    const [returned, spent] = of(DEBTOR);
    expect(of(DEBTOR)).toHaveLength(2);
    expect(spent?.what.redeems).toBe(1);
    const [refund] = all(year, 'refund', today).filter(({ what }) => what.sale === returned?.what);
    expect(refund).toMatchObject({ what: { all: true, by: SUPPORT } });
    // After its cashback became available, and before the refund.
    expect([spent!.day - returned!.day > 8, refund!.at > spent!.at]).toEqual([true, true]);
  });

  it('has two credits that expire within a week, of which no sale takes all', () => {
    const grants = all(year, 'grant', today).filter(({ what }) => what.expiresOn !== undefined);
    expect(grants.map(({ what }) => [what.document, daysFrom(today, what.expiresOn!)])).toEqual([
      [HOLDER, 6],
      [RIGHT, 3],
    ]);
    expect([...of(HOLDER), ...of(RIGHT)]).toEqual([]);
    expect(LAST).toMatchObject({ document: HOLDER, redeems: 0.5, outcome: 'left' });
  });

  it('has one CPF with many orders in a day, and no other one with five', () => {
    const counts = new Map<string, number>();
    for (const { day, what } of sales) {
      const key = `${day} ${what.document}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    expect([...counts].filter(([, count]) => count > 4)).toEqual([[`-4 ${CASHIER}`, 7]]);
  });

  it('has an order that expired before its money came, a corrected customer, and a voided grant', () => {
    expect(of(LATE)).toMatchObject([{ day: -1, what: { outcome: 'left', redeems: 0.5 } }]);
    const sweeps = all(year, 'sweep', today).filter(({ at }) => at > of(LATE)[0]!.at + 0.5 * HOUR_MS);
    expect(sweeps[0]).toMatchObject({ day: -1 });
    expect(all(year, 'correct', today)).toMatchObject([{ what: { sale: of(MISTYPED)[0]!.what, document: RIGHT } }]);
    const voided = all(year, 'grant', today).filter(({ what }) => what.voidReason !== undefined);
    expect(voided).toMatchObject([{ what: { document: RIGHT, amount: 250 } }]);
  });

  it('has each store, outcome and till in the last 30 days and before, and some 40 customers', () => {
    for (const part of [sales.filter(({ day }) => day > -30), sales.filter(({ day }) => day <= -60)]) {
      expect(new Set(part.map(({ what }) => what.store))).toEqual(new Set([...Object.keys(STORES), null]));
      expect(new Set(part.map(({ what }) => what.outcome ?? 'completed'))).toEqual(
        new Set(['completed', 'cancelled', 'left']),
      );
    }
    expect(Math.max(...sales.filter(({ what }) => what.by === FORMER_TILL).map(({ day }) => day))).toBeLessThan(-60);
    const customers = new Set(sales.map(({ what }) => what.document));
    expect(customers.size).toBeGreaterThan(35);
    expect(customers).not.toContain(DOCUMENT);
    expect(new Set(all(year, 'refund', today).map(({ what }) => what.by))).toEqual(
      new Set([SUPPORT, ...Object.values(STORES)]),
    );
    expect(all(year, 'refund', today).some(({ what }) => !what.all)).toBe(true);
  });

  it('has a stolen account, a debit of a grant that was made twice, and an undone refund, by the head of support', () => {
    const by = HEAD_OF_SUPPORT;
    const [freeze] = all(year, 'freeze', today);
    expect(freeze).toMatchObject({ day: -2, what: { document: FROZEN, by, reason: expect.any(String) } });
    // Somebody spends half of what the customer has, and nothing is sold afterwards.
    expect(of(FROZEN).map(({ day, what }) => [day, what.redeems ?? 0])).toEqual([
      [-34, 0],
      [-3, 0.5],
    ]);
    const grants = all(year, 'grant', today).filter(({ what }) => what.document === TWICE);
    const [debit, ...others] = all(year, 'debit', today);
    expect(grants.map(({ what }) => what.amount)).toEqual([debit!.what.amount, debit!.what.amount]);
    expect(debit).toMatchObject({ what: { document: TWICE, by, note: expect.any(String) } });
    expect([others, of(TWICE), debit!.at > grants[1]!.at]).toEqual([[], [], true]);
    const [undo] = all(year, 'undo', today);
    expect(undo).toMatchObject({ what: { by, refund: { sale: { document: UNDONE } } } });
    expect(of(UNDONE)).toHaveLength(1);
  });

  it('has late sales, which arrive on the day after they happened, and as early as the rules allow', () => {
    const late = sales.filter(({ what }) => what.lateBy !== undefined);
    expect(late.length).toBeGreaterThan(1);
    for (const { day, at, what } of late) {
      expect(daysFrom(today, dayOf(new Date(at - what.lateBy!), ZONE))).toBe(day - 1);
      expect(what.lateBy).toBeLessThan(3 * 24 * HOUR_MS);
    }
  });

  it('has a campaign that is over, one that runs and one in four weeks, and none changes what a document shows', () => {
    const campaigns = all(year, 'campaign', today);
    const days = campaigns.map(({ day, what }) => [
      what.name,
      ...[day, daysFrom(today, what.fromDay), daysFrom(today, what.throughDay)],
    ]);
    expect(days).toEqual([
      ['Semana do café', -20, -17, -11],
      ['Débito em dobro', -5, -3, 3],
      ['Aniversário da loja', -3, 28, 34],
    ]);
    // Beside the rates that hold without the campaign, which is of no other rule.
    for (const { what } of campaigns)
      expect(what.changes).toEqual({ earnRatesByPaymentMethod: { cash: 300, debit_card: 1000 } });
    const pages = readdirSync('docs', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.md'));
    const files = ['README.md', 'README.pt-BR.md', 'tools/demo.mjs', ...pages.map((file) => `docs/${file}`)];
    expect(files.filter((file) => readFileSync(file, 'utf8').includes('debit_card'))).toEqual([]);
  });
});

describe('docs/examples/aniversarios.csv', () => {
  const bytes = readFileSync('docs/examples/aniversarios.csv');

  it('is as Excel in Brazil saves it: Windows-1252, semicolons and CRLF', () => {
    const text = iconv.decode(bytes, 'Windows-1252');
    expect(text.split('\r\n')[0]).toBe('CPF;Valor;Motivo;Último dia;Observação');
    expect(iconv.encode(text, 'Windows-1252')).toEqual(bytes);
    expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
    expect(text.endsWith('\r\n')).toBe(true);
  });

  it('has customers of the demo, and three lines that are wrong, each in another way', () => {
    const [, ...lines] = iconv.decode(bytes, 'Windows-1252').trimEnd().split('\r\n');
    const rows = lines.map((line) => line.split(';'));
    const wrong = rows.filter(([document = '', amount = '', , day = '']) => {
      const isCustomer = CUSTOMERS.includes(withoutPunctuation(document));
      return !isCustomer || !/^\d+,\d\d$/.test(amount) || !/^$|^\d\d\/\d\d\/20[3-9]\d$/.test(day);
    });
    expect(rows.length).toBe(21);
    expect(new Set(rows.map(([document]) => document)).size).toBe(rows.length);
    expect(wrong.map(([document, amount, , day]) => [document, amount, day])).toEqual([
      ['8037824986', '15,00', ''],
      [expect.any(String), '1.500', ''],
      [expect.any(String), '15,00', '31/02/2027'],
    ]);
    // Also with the zero that the spreadsheet removed, and the other two are of customers.
    expect(hasValidCheckDigits('08037824986')).toBe(false);
    expect(wrong.slice(1).every(([document = '']) => CUSTOMERS.includes(document))).toBe(true);
  });
});

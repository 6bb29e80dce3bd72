import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import iconv from 'iconv-lite';
import { hasValidCheckDigits, withoutPunctuation } from '../../src/platform/values/document.js';
import * as calendar from '../../src/platform/values/time.js';
import { CUSTOMERS, DemoYear, type Kinds, ZONE } from '../../tools/demo-plan.mjs';

const { addDays, dayOf, startOfDay } = calendar;
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

/** What else it has, test/operations/demo.e2e-spec.ts reads from the service: it is the same on each day. */
describe('the plan of the demo', () => {
  const [today, hour] = ['2026-11-28', 10];
  const year = yearOf(today, hour);
  const sales = all(year, 'sell', today);

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
